/** Cuts a stream of bytes into lines, however the bytes come. */

const NEWLINE = 0x0a;
/** A rest that is a smaller part of what came is copied: it would keep all of it in memory. */
const SMALL_PART = 0.5;

/** Works on bytes, so a character that is split between two chunks is put together again. */
export class LineDecoder {
  #chunk: Buffer | undefined;
  #start = 0;
  /** The beginning of a line whose end has not come yet. */
  #pending: Buffer[] = [];

  /** Takes what has come, when there is no line left of what came before. */
  push(chunk: Buffer): void {
    this.#chunk = chunk;
    this.#start = 0;
  }

  /** The next whole line, without its end; empty lines are left out. Undefined when there is none yet. */
  next(): string | undefined {
    const chunk = this.#chunk;
    if (!chunk) return undefined;
    for (;;) {
      const start = this.#start;
      const end = chunk.indexOf(NEWLINE, start);
      if (end < 0) break;
      this.#start = end + 1;
      const line = this.#complete(chunk, start, end);
      if (line !== "") return line;
    }
    const rest = chunk.subarray(this.#start);
    if (rest.length > 0) this.#pending.push(rest.length < chunk.length * SMALL_PART ? Buffer.from(rest) : rest);
    this.#chunk = undefined;
    return undefined;
  }

  /** What came after the last line end. */
  rest(): string {
    return this.#complete(Buffer.alloc(0), 0, 0);
  }

  #complete(chunk: Buffer, start: number, end: number): string {
    if (this.#pending.length === 0) return chunk.toString("utf8", start, end).trim();
    const bytes = Buffer.concat([...this.#pending, chunk.subarray(start, end)]);
    this.#pending = [];
    return bytes.toString("utf8").trim();
  }
}
