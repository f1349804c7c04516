/**
 * Objects of a cluster repeat themselves: namespaces, reasons, messages, times, the names that others refer to. A parser
 * makes a string of its own of each of them; whoever keeps many objects need only keep one.
 */

/** The engine shares shorter ones by itself, and longer ones seldom come twice. */
const SHORTEST = 11;
const LONGEST = 72;
/** So many are known; as many again as were known before them. */
const GENERATION = 4096;

export class SharedStrings {
  #young = new Map<string, string>();
  #old = new Map<string, string>();

  /** How many are known. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Replaces, in a value that nobody else has yet, what is known already. */
  share<T>(value: T): T {
    if (typeof value === "string") return this.#known(value) as T;
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++) value[index] = this.share(value[index]);
    } else if (typeof value === "object" && value !== null) {
      const fields = value as Record<string, unknown>;
      for (const key in fields) {
        const field = fields[key];
        const shared = this.share(field);
        if (typeof field === "string") fields[key] = shared;
      }
    }
    return value;
  }

  #known(text: string): string {
    if (text.length < SHORTEST || text.length > LONGEST) return text;
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const kept = this.#old.get(text) ?? text;
    if (this.#young.size >= GENERATION) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(kept, kept);
    return kept;
  }
}
