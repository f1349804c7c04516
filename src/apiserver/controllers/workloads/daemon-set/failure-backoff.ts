/** How long a node has to wait before it gets a Pod again that keeps failing there. */

const FIRST_MS = 1000;
const LONGEST_MS = 15 * 60_000;

interface Wait {
  readonly ms: number;
  readonly since: number;
}

export class FailureBackoff {
  readonly #waits = new Map<string, Wait>();

  /** Milliseconds that are left; 0 when it may have another one now. */
  left(node: string, now: Date): number {
    const wait = this.#waits.get(node);
    return wait ? Math.max(0, wait.since + wait.ms - now.getTime()) : 0;
  }

  /** A failed Pod was removed: the next one that fails stays for twice as long. */
  note(node: string, now: Date): void {
    const before = this.#waits.get(node);
    const isRecent = before !== undefined && now.getTime() - before.since <= 2 * LONGEST_MS;
    const ms = isRecent ? Math.min(2 * before.ms, LONGEST_MS) : FIRST_MS;
    this.#waits.set(node, { ms, since: now.getTime() });
  }
}
