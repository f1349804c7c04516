/** How a credential plugin fails: one class, whose `reason` says what sort of failure it is. */

/**
 * - `misconfigured`: what is to be run makes no sense
 * - `denied`: the policy does not allow the command
 * - `interactive`: the plugin needs a person, and there is none
 * - `not-found`: there is no such program
 * - `not-started`: the system would not start it
 * - `timeout`: it did not end in time and was ended
 * - `too-much-output`: it wrote more than any credential needs and was ended
 * - `failed`: it ended with an exit code other than 0
 * - `killed`: a signal ended it
 * - `malformed`: what it wrote is not a credential, or not of the version that was asked for
 * - `expired`: the credential that it gave was of no use any more
 * - `called-off`: whoever wanted the credential closed the engine
 */
export type ExecReason =
  | "misconfigured"
  | "denied"
  | "interactive"
  | "not-found"
  | "not-started"
  | "timeout"
  | "too-much-output"
  | "failed"
  | "killed"
  | "malformed"
  | "expired"
  | "called-off";

/** The message names the program and the cause; it never repeats what could be a secret. */
export class ExecError extends Error {
  override readonly name = "ExecError";
  readonly reason: ExecReason;
  /** Where the program ended by itself. */
  readonly exitCode?: number;

  constructor(reason: ExecReason, message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    if (options.exitCode !== undefined) this.exitCode = options.exitCode;
  }
}
