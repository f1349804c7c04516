/** Cuts a stream of bytes into lines, however the bytes come. */

const NEWLINE = 0x0a;

/** Works on bytes, so a character that is split between two chunks is put together again. */
export class LineDecoder {
  #pending: Buffer[] = [];

  /** The lines that `chunk` completes, without their ends; empty lines are left out. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      const line = this.#complete(chunk.subarray(start, end));
      start = end + 1;
      if (line !== "") yield line;
    }
    if (start < chunk.length) this.#pending.push(chunk.subarray(start));
  }

  /** What came after the last line end. */
  rest(): string {
    return this.#complete(Buffer.alloc(0));
  }

  #complete(end: Buffer): string {
    if (this.#pending.length === 0) return end.toString("utf8").trim();
    const bytes = Buffer.concat([...this.#pending, end]);
    this.#pending = [];
    return bytes.toString("utf8").trim();
  }
}
