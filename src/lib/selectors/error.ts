/** A selector that cannot be understood. The message is what Kubernetes says in a 400. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}
