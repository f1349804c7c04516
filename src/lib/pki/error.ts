/** What was read is not what it should be: malformed, of an unknown algorithm, or with a wrong signature. */
export class PkiError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PkiError";
  }
}
