/** What one run of a program wrote: the newest lines, in memory, for as long as somebody may ask for them. */
import type { ContainerLog, LogLine } from "../kubelet/runner.ts";

/** Of one run; what is older than this much is forgotten. */
const KEPT_BYTES = 1024 * 1024;
/** What a line costs beside its text, so that a flood of empty lines stays within the bound too. */
const LINE_COST = 64;
/** A longer line is cut: nobody reads it, and it would push out all others. */
const LONGEST_LINE = 16 * 1024;
/** Forgotten lines leave the list when there are so many of them, because every time would be slow. */
const SWEPT_AT_ONCE = 1024;

export class RunLog {
  /** From `#first` on they are kept; those before are forgotten and leave with the next sweep. */
  #lines: LogLine[] = [];
  #first = 0;
  /** How many lines have left the list. */
  #swept = 0;
  #size = 0;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();

  /** One line, or several at once. */
  write(text: string, time: Date): void {
    if (this.#isClosed) return;
    for (const line of text.split("\n")) this.#add({ time, text: line.slice(0, LONGEST_LINE) });
    this.#wake();
  }

  /** No line will follow. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** The last lines, as many as fit. */
  tail({ lines, bytes }: { lines: number; bytes: number }): string {
    const kept: string[] = [];
    let left = bytes;
    for (let index = this.#lines.length - 1; index >= this.#first && kept.length < lines; index--) {
      const text = this.#lines[index]?.text ?? "";
      const size = Buffer.byteLength(text) + 1;
      if (size > left) {
        if (kept.length === 0) kept.push(Buffer.from(text).subarray(-left).toString("utf8"));
        break;
      }
      left -= size;
      kept.push(text);
    }
    return kept.reverse().join("\n");
  }

  read(): ContainerLog {
    const written = this.#lines.slice(this.#first);
    const next = this.#swept + this.#lines.length;
    return { written, follow: (signal) => this.#follow(next, signal) };
  }

  /** Whoever is slow misses what was forgotten meanwhile, and nothing else: a run that has ended is told to its end. */
  async *#follow(from: number, signal: AbortSignal): AsyncGenerator<LogLine> {
    for (let next = from; ; ) {
      if (signal.aborted && !this.#isClosed) return;
      next = Math.max(next, this.#swept + this.#first);
      const line = this.#lines[next - this.#swept];
      if (line) {
        next++;
        yield line;
      } else if (this.#isClosed) {
        return;
      } else {
        await this.#news(signal);
      }
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const heard = () => {
        this.#waiting.delete(heard);
        signal.removeEventListener("abort", heard);
        resolve();
      };
      this.#waiting.add(heard);
      signal.addEventListener("abort", heard, { once: true });
    });
  }

  #wake(): void {
    for (const heard of [...this.#waiting]) heard();
  }

  #add(line: LogLine): void {
    this.#lines.push(line);
    this.#size += costOf(line);
    while (this.#size > KEPT_BYTES) {
      this.#size -= costOf(this.#lines[this.#first]);
      this.#first++;
    }
    if (this.#first < SWEPT_AT_ONCE) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#swept += this.#first;
    this.#first = 0;
  }
}

function costOf(line: LogLine | undefined): number {
  return line ? line.text.length + LINE_COST : 0;
}
