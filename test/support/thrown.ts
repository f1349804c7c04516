/** The error of the expected class that a call ends with; any other ends the test. */
export function thrown<E extends Error>(expected: abstract new (...args: never[]) => E, act: () => unknown): E {
  try {
    act();
  } catch (error) {
    if (error instanceof expected) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
