/** Admission reviews as text: read with care, because anybody can reach the port, and answered in their own version. */
import type { AdmissionRequest, AdmissionResponse, AdmissionReview, Operation } from "#api/admission";
import { isObject, parseJson, stringifyJson } from "#lib/json";
import type { Ruling } from "./ruling.ts";

/** What was sent is no question that can be answered; the message is one line for whoever sent it. */
export class BadReview extends Error {
  override readonly name = "BadReview";
}

export interface Question {
  readonly apiVersion: string;
  readonly request: AdmissionRequest;
}

/** The two differ in nothing that matters here. */
const VERSIONS: ReadonlySet<unknown> = new Set(["admission.k8s.io/v1", "admission.k8s.io/v1beta1"]);
const OPERATIONS: ReadonlySet<unknown> = new Set<Operation>(["CREATE", "UPDATE", "DELETE", "CONNECT"]);

/** Throws BadReview. */
export function readReview(text: string): Question {
  const review = parsed(text);
  if (!isObject(review) || review.kind !== "AdmissionReview") throw new BadReview("the body is no AdmissionReview");
  const { apiVersion, request } = review;
  if (!VERSIONS.has(apiVersion)) {
    throw new BadReview(`AdmissionReviews are understood in ${[...VERSIONS].join(" and ")} only`);
  }
  if (!isObject(request)) throw new BadReview("the AdmissionReview has no request");
  const { uid, operation, userInfo, object, oldObject } = request;
  if (typeof uid !== "string" || uid === "") throw new BadReview("request.uid is missing");
  if (!OPERATIONS.has(operation)) throw new BadReview("request.operation is none of the four that there are");
  if (!isObject(userInfo) || !isUser(userInfo)) throw new BadReview("request.userInfo does not say who asks");
  for (const [field, value] of Object.entries({ object, oldObject })) {
    const isMissing = value === undefined || value === null;
    if (!isMissing && !(isObject(value) && isObject(value.metadata)))
      throw new BadReview(`request.${field} is no object`);
  }
  for (const field of ["name", "namespace", "subResource"]) {
    const value = request[field];
    if (value !== undefined && typeof value !== "string") throw new BadReview(`request.${field} is no text`);
  }
  return { apiVersion: String(apiVersion), request: request as unknown as AdmissionRequest };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // What it stumbled upon is not repeated: nobody knows what that is.
    throw new BadReview("the body is no JSON");
  }
}

function isUser({ username, uid, groups, extra }: Record<string, unknown>): boolean {
  const isTexts = (value: unknown) => Array.isArray(value) && value.every((each) => typeof each === "string");
  return (
    typeof username === "string" &&
    (uid === undefined || typeof uid === "string") &&
    (groups === undefined || groups === null || isTexts(groups)) &&
    (extra === undefined || extra === null || (isObject(extra) && Object.values(extra).every(isTexts)))
  );
}

export function answerText({ apiVersion, request }: Question, ruling: Ruling): string {
  const review: AdmissionReview = { apiVersion, kind: "AdmissionReview", response: responseOf(request.uid, ruling) };
  return stringifyJson(review);
}

function responseOf(uid: string, ruling: Ruling): AdmissionResponse {
  if (ruling.allowed) {
    const { patch = [] } = ruling;
    if (patch.length === 0) return { uid, allowed: true };
    const base64 = Buffer.from(stringifyJson(patch)).toString("base64");
    return { uid, allowed: true, patchType: "JSONPatch", patch: base64 };
  }
  const { code, reason, message, details } = ruling;
  const status = { status: "Failure", code, reason, message, ...(details && { details }) } as const;
  return { uid, allowed: false, status };
}
