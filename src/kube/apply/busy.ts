/** Which objects are being written at this moment: what is heard of them meanwhile is no news. */
export class Busy {
  readonly #writes = new Map<string, { count: number; ended: Promise<void>; end: () => void }>();

  begin(identity: string): void {
    const known = this.#writes.get(identity);
    if (known) {
      known.count++;
      return;
    }
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#writes.set(identity, { count: 1, ended, end });
  }

  end(identity: string): void {
    const write = this.#writes.get(identity);
    if (!write || --write.count > 0) return;
    this.#writes.delete(identity);
    write.end();
  }

  /** Ends with the last write that is under way; undefined when there is none. */
  whileAt(identity: string): Promise<void> | undefined {
    return this.#writes.get(identity)?.ended;
  }
}
