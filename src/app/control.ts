/**
 * How one command asks the process that has a folder to do something: a socket that only its owner can open, one
 * question and one answer as a line of JSON each.
 */
import { createHash } from "node:crypto";
import { rm } from "node:fs/promises";
import { createConnection, createServer, type Socket } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { isObject } from "#lib/json";
import type { FleetDirectory } from "./fleet-directory.ts";
import { UserError } from "./user-error.ts";

/** `port` is the first to try for a new cluster. */
export type Order = { readonly add: string; readonly port?: number } | { readonly remove: string };

/** What the process that has the folder can do for others. */
export interface Controllable {
  add(name: string, firstPort?: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Longer than any order; whoever sends more is not one of us. */
const LONGEST_LINE = 4096;

/** Sockets have short names, folders may have long ones: the name is a hash of the folder's. */
function socketOf({ path }: FleetDirectory): string {
  const hash = createHash("sha256").update(path).digest("hex").slice(0, 16);
  return join(tmpdir(), `capstan-${userInfo().uid}-${hash}.sock`);
}

/** Takes orders until the answer is called. The caller holds the folder's lock, so an old socket is nobody's. */
export async function takeOrders(directory: FleetDirectory, able: Controllable): Promise<() => Promise<void>> {
  const path = socketOf(directory);
  await rm(path, { force: true });
  const server = createServer((socket) => {
    socket.on("error", () => {}); // the asker went away
    answer(socket, able);
  });
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(path, resolve);
    });
  } finally {
    process.umask(before);
  }
  server.unref();
  return async () => {
    await new Promise((resolve) => server.close(resolve));
    await rm(path, { force: true });
  };
}

async function answer(socket: Socket, able: Controllable): Promise<void> {
  try {
    const order = parsed(await firstLine(socket));
    if ("add" in order) await able.add(order.add, order.port);
    else await able.remove(order.remove);
    socket.end(`${JSON.stringify({ done: true })}\n`);
  } catch (error) {
    socket.end(`${JSON.stringify({ failed: error instanceof Error ? error.message : String(error) })}\n`);
  }
}

function parsed(line: string): Order {
  const value: unknown = JSON.parse(line);
  if (isObject(value) && typeof value.add === "string") {
    return { add: value.add, ...(typeof value.port === "number" && { port: value.port }) };
  }
  if (isObject(value) && typeof value.remove === "string") return { remove: value.remove };
  throw new Error("this is no order");
}

/** Asks the process that has the folder. */
export async function giveOrder(directory: FleetDirectory, order: Order): Promise<void> {
  const socket = createConnection(socketOf(directory));
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve);
      socket.once("error", reject);
    });
  } catch (cause) {
    throw new UserError(`the process that runs in ${directory.path} takes no orders yet; try again in a moment`, {
      cause,
    });
  }
  socket.write(`${JSON.stringify(order)}\n`);
  const { failed } = JSON.parse(await firstLine(socket)) as { failed?: string };
  socket.destroy();
  if (failed !== undefined) throw new UserError(failed);
}

/** Reads on without ending the conversation: the socket still has an answer to carry. */
function firstLine(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const end = text.indexOf("\n");
      if (end >= 0) resolve(text.slice(0, end));
      else if (text.length > LONGEST_LINE) reject(new Error("this is no line of ours"));
    });
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("the other side went away")));
  });
}
