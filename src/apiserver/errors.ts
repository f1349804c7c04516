/** The answers of an API server that are not the object asked for, in the words that clients branch on. */
import type { Status, StatusCause, StatusDetails } from "#api/meta";

/** Thrown anywhere below the HTTP front end; it becomes the response. */
export class ApiError extends Error {
  readonly status: Status;
  /** Seconds for the Retry-After header. */
  readonly retryAfter?: number;

  constructor(code: number, reason: string | undefined, message: string, details?: StatusDetails) {
    super(message);
    this.name = "ApiError";
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason !== undefined && { reason }),
      ...(details && { details }),
      code,
    };
    if (details?.retryAfterSeconds !== undefined) this.retryAfter = details.retryAfterSeconds;
  }

  get code(): number {
    return this.status.code ?? 500;
  }
}

/** What an error is about: a resource, or with `kind` set to the Kind, an invalid object. */
export interface Subject {
  group: string;
  /** Plural resource, or the Kind where the body of the request is at fault. */
  kind: string;
  name?: string;
}

export function notFound(subject: Subject): ApiError {
  return new ApiError(404, "NotFound", `${qualified(subject)} "${subject.name ?? ""}" not found`, details(subject));
}

export function alreadyExists(subject: Subject): ApiError {
  return new ApiError(
    409,
    "AlreadyExists",
    `${qualified(subject)} "${subject.name ?? ""}" already exists`,
    details(subject),
  );
}

export function conflict(subject: Subject, why: string): ApiError {
  return new ApiError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(subject)} "${subject.name ?? ""}": ${why}`,
    details(subject),
  );
}

export const OBJECT_MODIFIED =
  "the object has been modified; please apply your changes to the latest version and try again";

export function forbidden(subject: Subject, why: string, causes?: StatusCause[]): ApiError {
  const name = subject.name ? ` "${subject.name}"` : "";
  return new ApiError(403, "Forbidden", `${qualified(subject)}${name} is forbidden: ${why}`, {
    ...details(subject),
    ...(causes && { causes }),
  });
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

export function unauthorized(): ApiError {
  return new ApiError(401, "Unauthorized", "Unauthorized");
}

export function methodNotAllowed(
  message = "the server does not allow this method on the requested resource",
): ApiError {
  return new ApiError(405, "MethodNotAllowed", message, {});
}

export function noSuchResource(): ApiError {
  return new ApiError(404, "NotFound", "the server could not find the requested resource", {});
}

export function notAcceptable(types: readonly string[]): ApiError {
  return new ApiError(406, "NotAcceptable", `only the following media types are accepted: ${types.join(", ")}`);
}

export function unsupportedMediaType(types: readonly string[]): ApiError {
  return new ApiError(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${types.join(", ")}`,
  );
}

export function tooLarge(message: string): ApiError {
  return new ApiError(413, "RequestEntityTooLarge", message);
}

export function timedOut(message: string): ApiError {
  return new ApiError(504, "Timeout", `Timeout: ${message}`, {});
}

export function expired(message: string): ApiError {
  return new ApiError(410, "Expired", message);
}

/** A Go error that no one dressed up: 500 without a reason. */
export function plainError(message: string): ApiError {
  return new ApiError(500, undefined, message);
}

export function internalError(message: string): ApiError {
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] });
}

export function tooManyRequests(message: string, retryAfterSeconds: number): ApiError {
  return new ApiError(429, "TooManyRequests", message, { retryAfterSeconds });
}

export type FieldErrorReason =
  | "FieldValueRequired"
  | "FieldValueInvalid"
  | "FieldValueDuplicate"
  | "FieldValueForbidden"
  | "FieldValueNotSupported"
  | "FieldValueTooLong"
  | "FieldValueTooMany"
  | "FieldValueTypeInvalid"
  | "FieldValueNotFound";

/** One thing that is wrong with one field. `message` is the whole text after the field's path. */
export interface FieldError {
  reason: FieldErrorReason;
  field: string;
  message: string;
}

export const field = {
  required: (path: string, detail = ""): FieldError => fieldError("FieldValueRequired", path, "Required value", detail),
  invalid: (path: string, value: unknown, detail: string): FieldError =>
    fieldError("FieldValueInvalid", path, `Invalid value: ${shown(value)}`, detail),
  duplicate: (path: string, value: unknown): FieldError =>
    fieldError("FieldValueDuplicate", path, `Duplicate value: ${shown(value)}`, ""),
  forbidden: (path: string, detail: string): FieldError => fieldError("FieldValueForbidden", path, "Forbidden", detail),
  notSupported: (path: string, value: unknown, allowed: readonly unknown[]): FieldError =>
    fieldError(
      "FieldValueNotSupported",
      path,
      `Unsupported value: ${shown(value)}`,
      `supported values: ${allowed.map(shown).join(", ")}`,
    ),
  tooLong: (path: string, max: number): FieldError =>
    fieldError("FieldValueTooLong", path, "Too long", `may not be more than ${max} bytes`),
  tooMany: (path: string, count: number, max: number): FieldError =>
    fieldError("FieldValueTooMany", path, `Too many: ${count}`, `must have at most ${max} items`),
  typeInvalid: (path: string, value: unknown, detail: string): FieldError =>
    fieldError("FieldValueTypeInvalid", path, `Invalid value: ${shown(value)}`, detail),
  notFound: (path: string, value: unknown): FieldError =>
    fieldError("FieldValueNotFound", path, `Not found: ${shown(value)}`, ""),
};

/** 422: `kind` is the Kind of the object, not its resource. */
export function invalid(subject: Subject, errors: readonly FieldError[]): ApiError {
  const texts = errors.map(({ field, message }) => `${field}: ${message}`);
  const all = texts.length === 1 ? texts[0] : `[${texts.join(", ")}]`;
  return new ApiError(422, "Invalid", `${qualified(subject)} "${subject.name ?? ""}" is invalid: ${all}`, {
    ...details(subject),
    causes: errors.map(({ reason, field, message }) => ({ reason, message, field })),
  });
}

function fieldError(reason: FieldErrorReason, path: string, head: string, detail: string): FieldError {
  return { reason, field: path, message: detail ? `${head}: ${detail}` : head };
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "object" && value !== null) return JSON.stringify(value);
  return String(value);
}

function qualified({ kind, group }: Subject): string {
  return group ? `${kind}.${group}` : kind;
}

function details({ name, group, kind }: Subject): StatusDetails {
  return { ...(name && { name }), ...(group && { group }), kind };
}
