/** Why nothing was done at all: the message is for people, and names what to do next. */
export class ApplyError extends Error {
  override readonly name = "ApplyError";
}
