/** The conversation with an admission webhook: the question in the version it knows, and what its answer is worth. */
import type { AdmissionRequest, AdmissionResponse, AdmissionReview } from "#api/admission";
import type { Status } from "#api/meta";
import { isObject } from "#lib/json";
import { CallFailure } from "./client.ts";

const GROUP = "admission.k8s.io";
const KIND = "AdmissionReview";

/** The versions of the conversation that the server speaks. */
export type ReviewVersion = "v1" | "v1beta1";

/** The first version that a webhook names and the server knows. */
export function reviewVersion(versions: readonly string[]): ReviewVersion | undefined {
  return versions.find((version): version is ReviewVersion => version === "v1" || version === "v1beta1");
}

export function admissionReview(version: ReviewVersion, request: AdmissionRequest): AdmissionReview {
  return { kind: KIND, apiVersion: `${GROUP}/${version}`, request };
}

/** An answer came, and it is not one that the question could have. */
export class InvalidAnswer extends CallFailure {}

export interface Verdict {
  readonly allowed: boolean;
  /** Why not. */
  readonly status: Partial<Status>;
  /** The text of a patch, with what kind of patch it is; absent when nothing is to be changed. */
  readonly patch?: { readonly text: string; readonly type: string };
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly isMutating: boolean;
}

/** Reads the answer. Throws CallFailure when it is no review, and InvalidAnswer when it is the wrong one. */
export function verdictOf(asked: Asked, answer: unknown): Verdict {
  const review = readReview(asked.version, answer);
  if (review.response === undefined || review.response === null) throw invalid("webhook response was absent");
  const response = readResponse(review.response);
  // Whoever still speaks the old version was never held to these.
  if (asked.version === "v1") refuseMismatch(asked, review, response);
  const patch = patchOf(asked, response);
  return {
    allowed: response.allowed ?? false,
    status: response.status ?? {},
    ...(patch && { patch }),
    warnings: response.warnings ?? [],
    auditAnnotations: response.auditAnnotations ?? {},
  };
}

interface RawReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly response?: unknown;
}

function readReview(version: ReviewVersion, answer: unknown): RawReview {
  if (!isObject(answer)) throw new CallFailure("couldn't get version/kind; json parse error: the answer is no object");
  const { apiVersion = "", kind = "", response } = answer;
  if (typeof apiVersion !== "string" || typeof kind !== "string") throw wrongType("AdmissionReview", "apiVersion");
  const expected = `${GROUP}/${version}`;
  const isSaid = apiVersion !== "" || kind !== "";
  if (isSaid && (apiVersion !== expected || kind !== KIND)) {
    const other = /^admission\.k8s\.io\/(v1|v1beta1)$/.exec(apiVersion)?.[1];
    throw new CallFailure(
      other !== undefined && kind === KIND
        ? `converting (${other}.${KIND}) to (${version}.${KIND}): unknown conversion`
        : `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  }
  return { apiVersion, kind, response };
}

function readResponse(response: unknown): Partial<AdmissionResponse> {
  if (!isObject(response)) throw wrongType("AdmissionReview", "response");
  const { uid, allowed, status, patch, patchType, auditAnnotations, warnings } = withoutNulls(response);
  const isTexts = (values: readonly unknown[]) => values.every((value) => typeof value === "string");
  const checks: readonly [string, boolean][] = [
    ["uid", uid === undefined || typeof uid === "string"],
    ["allowed", allowed === undefined || typeof allowed === "boolean"],
    ["status", status === undefined || isObject(status)],
    ["patch", patch === undefined || typeof patch === "string"],
    ["patchType", patchType === undefined || typeof patchType === "string"],
    ["warnings", warnings === undefined || (Array.isArray(warnings) && isTexts(warnings))],
    [
      "auditAnnotations",
      auditAnnotations === undefined || (isObject(auditAnnotations) && isTexts(Object.values(auditAnnotations))),
    ],
  ];
  const wrong = checks.find(([, isRight]) => !isRight);
  if (wrong) throw wrongType("AdmissionResponse.response", wrong[0]);
  if (typeof patch === "string" && !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(patch)) {
    throw new CallFailure("illegal base64 data in response.patch");
  }
  return withoutNulls(response) as Partial<AdmissionResponse>;
}

/** Go takes null for what is not there. */
function withoutNulls(object: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function refuseMismatch(
  { version, uid }: Asked,
  { apiVersion, kind }: RawReview,
  response: Partial<AdmissionResponse>,
) {
  if (response.uid !== uid) {
    throw invalid(`expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid ?? "")}`);
  }
  if (apiVersion === "" || kind === "") {
    throw invalid(`expected webhook response of ${GROUP}/${version}, Kind=${KIND}, got /, Kind=`);
  }
}

function patchOf({ version, isMutating }: Asked, response: Partial<AdmissionResponse>): Verdict["patch"] {
  const { patch = "", patchType } = response;
  if (!isMutating) {
    if (version !== "v1") return undefined;
    if (patch !== "") throw invalid("validating webhook may not return response.patch");
    if (patchType !== undefined) throw invalid("validating webhook may not return response.patchType");
    return undefined;
  }
  const isNamed = version === "v1";
  if (isNamed && patch !== "" && patchType === undefined) {
    throw invalid("webhook returned response.patch but not response.patchType");
  }
  if (isNamed && patch === "" && patchType !== undefined) {
    throw invalid("webhook returned response.patchType but not response.patch");
  }
  if (patch === "") return undefined;
  return { text: Buffer.from(patch, "base64").toString("utf8"), type: isNamed ? (patchType ?? "") : "JSONPatch" };
}

function invalid(why: string): InvalidAnswer {
  return new InvalidAnswer(why);
}

function wrongType(where: string, name: string): CallFailure {
  return new CallFailure(`json: cannot unmarshal ${where}.${name}: it has the wrong type`);
}
