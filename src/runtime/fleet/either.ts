/** Two reasons to end. */

/** A signal that fires with the first of two, and leaves no listener behind on the other. */
export function either(one: AbortSignal, other: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const fire = () => {
    one.removeEventListener("abort", fire);
    other.removeEventListener("abort", fire);
    controller.abort();
  };
  if (one.aborted || other.aborted) controller.abort();
  else {
    one.addEventListener("abort", fire);
    other.addEventListener("abort", fire);
  }
  return controller.signal;
}
