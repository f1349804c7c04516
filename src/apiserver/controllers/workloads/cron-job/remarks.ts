/** What has been told already, so that looking again does not repeat it. */
export class Remarks {
  /** By key: what was said last for each reason. */
  readonly #said = new Map<string, Map<string, string>>();

  /** Whether this has not been said for that reason just before; from now on it has. */
  isNew(key: string, reason: string, text: string): boolean {
    const said = this.#said.get(key) ?? new Map<string, string>();
    this.#said.set(key, said);
    if (said.get(reason) === text) return false;
    said.set(reason, text);
    return true;
  }

  forget(key: string): void {
    this.#said.delete(key);
  }
}
