/** How a call to an API server fails: one class, whose `kind` says what sort of failure it is. */
import type { Status } from "#api/meta";

/**
 * - `status`: the server answered, with an error
 * - `unreachable`: no connection could be made; nothing was sent
 * - `lost`: the connection broke during the call; a write may have happened
 * - `timeout`: no full answer in the time that the caller gave
 * - `aborted`: the caller called it off, or closed the client
 * - `malformed`: the answer is not what an API server says
 * - `credentials`: what to show to the server could not be had
 * - `misuse`: the call makes no sense and was not sent
 */
export type KubeErrorKind =
  | "status"
  | "unreachable"
  | "lost"
  | "timeout"
  | "aborted"
  | "malformed"
  | "credentials"
  | "misuse";

export interface KubeErrorOptions {
  code?: number;
  reason?: string;
  status?: Status;
  retryAfter?: number;
  cause?: unknown;
}

/** The only thing that the calls of a client throw. */
export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly kind: KubeErrorKind;
  /** The HTTP status; 0 where there was no answer. */
  readonly code: number;
  /** The reason in the server's words (`NotFound`, `Conflict`); empty where there was no answer. */
  readonly reason: string;
  readonly status?: Status;
  /** Seconds after which the server wishes to be asked again. */
  readonly retryAfter?: number;

  constructor(kind: KubeErrorKind, message: string, options: KubeErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.code = options.code ?? options.status?.code ?? 0;
    this.reason = options.reason ?? options.status?.reason ?? REASONS.get(this.code) ?? "";
    if (options.status) this.status = options.status;
    if (options.retryAfter !== undefined) this.retryAfter = options.retryAfter;
  }
}

/** What a bare HTTP status means, for servers and proxies that send no Status object. */
const REASONS = new Map([
  [400, "BadRequest"],
  [401, "Unauthorized"],
  [403, "Forbidden"],
  [404, "NotFound"],
  [405, "MethodNotAllowed"],
  [406, "NotAcceptable"],
  [409, "Conflict"],
  [410, "Gone"],
  [413, "RequestEntityTooLarge"],
  [415, "UnsupportedMediaType"],
  [422, "Invalid"],
  [429, "TooManyRequests"],
  [500, "InternalError"],
  [503, "ServiceUnavailable"],
  [504, "Timeout"],
]);

/** The error that a Status stands for; `during` says what was being done. */
export function statusError(status: Status, during?: string, options: { retryAfter?: number } = {}): KubeError {
  const code = status.code ?? 500;
  const reason = status.reason || REASONS.get(code) || "";
  const said = status.message || "the server gave no message";
  const message = `${during ? `${during}: ` : ""}${said} (${reason ? `${code} ${reason}` : code})`;
  return new KubeError("status", message, { ...options, code, reason, status });
}

export function isKubeError(error: unknown): error is KubeError {
  return error instanceof KubeError;
}

export function isNotFound(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 404;
}

/** Not the object is missing but the kind: its CRD is not installed, or its version is not served. */
export function isUnknownKind(error: unknown): error is KubeError {
  return isNotFound(error) && !error.status?.details?.name;
}

/** Somebody else wrote in between, or a precondition does not hold. */
export function isConflict(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 409 && error.reason !== "AlreadyExists";
}

export function isAlreadyExists(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 409 && error.reason === "AlreadyExists";
}

export function isUnauthorized(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 401;
}

export function isForbidden(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 403;
}

export function isInvalid(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 422;
}

export function isGone(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 410;
}

/** The resourceVersion or continue token is too old to go on from. */
export function isExpired(error: unknown): error is KubeError {
  return isKubeError(error) && (error.code === 410 || error.reason === "Expired");
}

export function isTooManyRequests(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 429;
}

export function isTimeout(error: unknown): error is KubeError {
  return isKubeError(error) && error.kind === "timeout";
}

export function isAborted(error: unknown): error is KubeError {
  return isKubeError(error) && error.kind === "aborted";
}

/** The server was not reached, or was lost during the call. */
export function isNetworkError(error: unknown): error is KubeError {
  return isKubeError(error) && (error.kind === "unreachable" || error.kind === "lost");
}

/** Somebody answers at the server's address, and nobody whom we trust vouches for them. */
export function isUntrusted(error: unknown): error is KubeError {
  return isKubeError(error) && error.kind === "unreachable" && /certificate|self.signed/i.test(error.message);
}

/** The server has not come as far as the resourceVersion asked for: it lags, or was restored from a backup. */
export function isTooLargeResourceVersion(error: unknown): boolean {
  if (!isKubeError(error) || error.kind !== "status") return false;
  const causes = error.status?.details?.causes ?? [];
  return (
    causes.some(({ reason }) => reason === "ResourceVersionTooLarge") ||
    (error.status?.message ?? "").includes("Too large resource version")
  );
}
