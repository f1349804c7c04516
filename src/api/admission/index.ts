/** The group `admission.k8s.io/v1`: what an API server asks a webhook before it writes, and what it is told. */
import type { DynamicObject, Status } from "#api/meta";

export type Operation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** Sent with a request, and answered with a response. */
export interface AdmissionReview {
  apiVersion: string;
  kind: "AdmissionReview";
  request?: AdmissionRequest;
  response?: AdmissionResponse;
}

export interface AdmissionRequest {
  /** Of this request, not of the object; the response repeats it. */
  uid: string;
  /** In the version that the webhook asked for. */
  kind: { group: string; version: string; kind: string };
  resource: { group: string; version: string; resource: string };
  subResource?: string;
  /** In the version that the client used. */
  requestKind: { group: string; version: string; kind: string };
  requestResource: { group: string; version: string; resource: string };
  requestSubResource?: string;
  /** Absent while the server has yet to generate it. */
  name?: string;
  namespace?: string;
  operation: Operation;
  userInfo: { username: string; uid?: string; groups?: string[]; extra?: Record<string, string[]> };
  /** Null when something is deleted. */
  object: DynamicObject | null;
  /** Null when something is created. */
  oldObject: DynamicObject | null;
  dryRun: boolean;
  options: Record<string, unknown>;
}

export interface AdmissionResponse {
  uid: string;
  allowed: boolean;
  /** Why not. */
  status?: Partial<Status>;
  /** A JSON patch in base64. */
  patch?: string;
  patchType?: "JSONPatch";
  auditAnnotations?: Record<string, string>;
  warnings?: string[];
}
