/**
 * Why a patch cannot be applied: it is no patch at all, it does not fit the document, what it tests is not so,
 * or it would copy more than allowed.
 */
export type PatchFailure = "Malformed" | "MissingPath" | "TestFailed" | "TooLarge";

export class PatchError extends Error {
  override readonly name = "PatchError";
  readonly failure: PatchFailure;

  constructor(failure: PatchFailure, message: string) {
    super(message);
    this.failure = failure;
  }
}
