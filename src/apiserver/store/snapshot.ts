/**
 * A snapshot is JSON lines: the revision, every object, and at the end their number and the CRC-32 of all before.
 * Without that last line it is not whole.
 */
import { crc32 } from "node:zlib";
import { isObject, parseJson } from "#lib/json";
import type { DataFile, Directory, Disk } from "./directory.ts";
import { messageOf, StoreDamaged } from "./errors.ts";
import { isStored, LINE_END } from "./record.ts";
import type { Capture } from "./state.ts";
import { passingBytes } from "./stored-bytes.ts";
import type { Stored } from "./types.ts";

/** As much text as is made between two turns of the event loop: about a millisecond of work. */
const SLICE = 128 * 1024;
const READ_SLICE = 256 * 1024;
const NEWLINE = 0x0a;
const TRAILER = '{"objects":';

/** Writes what was captured at `revision` and answers with the size of the file. */
export async function writeSnapshot(
  directory: Directory,
  revision: number,
  captures: readonly Capture[],
): Promise<number> {
  let size = 0;
  await directory.writeWhole(directory.snapshotPath(revision), async (write) => {
    let [slice, sliceSize, checksum, count] = [[] as Buffer[], 0, 0, 0];
    const add = (bytes: Buffer) => {
      slice.push(bytes);
      sliceSize += bytes.length;
    };
    const flush = async () => {
      const bytes = Buffer.concat(slice, sliceSize);
      checksum = crc32(bytes, checksum);
      size += bytes.length;
      [slice, sliceSize] = [[], 0];
      await write(bytes);
    };
    add(Buffer.from(`{"snapshot":${revision}}\n`));
    for (const { resource, keys, objects } of captures) {
      const head = `{"resource":${JSON.stringify(resource)},"key":`;
      for (const [index, key] of keys.entries()) {
        add(Buffer.from(`${head}${JSON.stringify(key)},"object":`));
        add(passingBytes(objects[index] as Stored));
        add(LINE_END);
        count++;
        if (sliceSize >= SLICE) await flush();
      }
    }
    await flush();
    add(Buffer.from(`${TRAILER}${count},"crc":${checksum}}\n`));
    await flush();
  });
  return size;
}

/**
 * Hands every object of a snapshot to `load`. Answers with the size of the file, or with the damage when it is not
 * whole; what was loaded by then is worth nothing.
 */
export async function readSnapshot(
  disk: Disk,
  { path, revision }: DataFile,
  load: (resource: string, key: string, object: Stored) => void,
): Promise<number | StoreDamaged> {
  let [checksum, count, offset] = [0, 0, 0];
  let trailer: string | undefined;
  for await (const line of linesOf(disk, path)) {
    if (trailer !== undefined) return new StoreDamaged(path, offset, "it goes on after its end");
    const text = line.toString("utf8");
    try {
      if (text.startsWith(TRAILER)) trailer = text;
      else if (offset === 0) checkHead(text, revision);
      else {
        const { resource, key, object } = entryOf(text);
        load(resource, key, object);
        count++;
      }
    } catch (error) {
      return new StoreDamaged(path, offset, messageOf(error));
    }
    if (trailer === undefined) checksum = crc32(line, checksum);
    offset += line.length;
  }
  if (trailer === undefined) return new StoreDamaged(path, offset, "its end is missing");
  if (trailer !== `${TRAILER}${count},"crc":${checksum}}\n`) {
    return new StoreDamaged(path, offset - trailer.length, "the checksum does not match");
  }
  return offset;
}

function checkHead(text: string, revision: number): void {
  const head = parseJson(text);
  if (!isObject(head) || head.snapshot !== revision) throw new SyntaxError(`it is no snapshot of ${revision}`);
}

function entryOf(text: string): { resource: string; key: string; object: Stored } {
  const entry = parseJson(text);
  if (!isObject(entry)) throw new SyntaxError("an entry is not an object");
  const { resource, key, object } = entry;
  if (typeof resource !== "string" || typeof key !== "string" || !isStored(object)) {
    throw new SyntaxError("an entry is incomplete");
  }
  return { resource, key, object };
}

/** The lines of a file with their newline; the last may be without one. */
async function* linesOf(disk: Disk, path: string): AsyncGenerator<Buffer> {
  const handle = await disk.open(path, "r");
  try {
    let rest = Buffer.alloc(0);
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_SLICE), 0, READ_SLICE, null);
      if (bytesRead === 0) break;
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        yield bytes.subarray(start, end + 1);
        start = end + 1;
      }
      rest = bytes.subarray(start);
    }
    if (rest.length > 0) yield rest;
  } finally {
    await handle.close();
  }
}
