/** One request as an audit event. */
import type { Status } from "#api/meta";
import { microTimestamp } from "#lib/clock";
import type { UserInfo } from "../resource.ts";
import { maskedUri } from "./masked-uri.ts";

export type Stage = "ResponseStarted" | "ResponseComplete";

/** What is known of a request; what was not reached is absent. */
export interface AuditedRequest {
  readonly auditId: string;
  readonly receivedAt: Date;
  readonly uri: string;
  readonly verb: string;
  readonly userAgent?: string | undefined;
  readonly sourceIp?: string | undefined;
  /** Who came. */
  readonly caller?: UserInfo | undefined;
  /** Whom the caller acts as, which most often is the caller. */
  readonly user?: UserInfo | undefined;
  readonly object?: AuditedObject | undefined;
  readonly decision?: { readonly allowed: boolean; readonly reason: string } | undefined;
  /** Remarks of those who had a say. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
  readonly code?: number | undefined;
  /** The Status of a request that failed. */
  readonly failure?: Status | undefined;
}

export interface AuditedObject {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}

export interface AuditEvent {
  readonly kind: "Event";
  readonly apiVersion: "audit.k8s.io/v1";
  readonly level: "Metadata";
  readonly auditID: string;
  readonly stage: Stage;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: Partial<UserInfo>;
  readonly impersonatedUser?: UserInfo;
  readonly sourceIPs?: readonly string[];
  readonly userAgent?: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: Readonly<Record<string, unknown>>;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

const LONGEST_USER_AGENT = 1024;

/** Refusals whose texts speak of names and rights. Those of other codes may quote the body, so they are left out. */
const QUOTABLE: ReadonlySet<number> = new Set([401, 403, 404, 405, 406, 409, 410, 413, 415, 429, 503]);

export function auditEvent(request: AuditedRequest, stage: Stage, now: Date): AuditEvent {
  const { caller, user, userAgent, sourceIp, object, decision } = request;
  const responseStatus = responseStatusOf(request);
  // Field by field, because every request comes by here and a literal with many optional parts is slow to build.
  const event: Unfinished = {
    kind: "Event",
    apiVersion: "audit.k8s.io/v1",
    level: "Metadata",
    auditID: request.auditId,
    stage,
    requestURI: maskedUri(request.uri),
    verb: request.verb,
    user: caller ?? {},
    requestReceivedTimestamp: microTimestamp(request.receivedAt),
    stageTimestamp: microTimestamp(now),
  };
  if (user && user !== caller) event.impersonatedUser = user;
  if (sourceIp) event.sourceIPs = [sourceIp];
  if (userAgent) event.userAgent = shortened(userAgent, LONGEST_USER_AGENT);
  if (object) event.objectRef = objectRefOf(object);
  if (responseStatus) event.responseStatus = responseStatus;
  if (decision) {
    event.annotations = {
      "authorization.k8s.io/decision": decision.allowed ? "allow" : "forbid",
      "authorization.k8s.io/reason": decision.reason,
      ...request.annotations,
    };
  }
  return event;
}

type Unfinished = { -readonly [K in keyof AuditEvent]: AuditEvent[K] };

function responseStatusOf({ code, failure }: AuditedRequest): AuditEvent["responseStatus"] | undefined {
  if (code === undefined) return undefined;
  const { status, reason, message } = failure ?? {};
  return {
    metadata: {},
    ...(status && { status }),
    ...(message && QUOTABLE.has(code) && { message }),
    ...(reason && { reason }),
    code,
  };
}

function objectRefOf(object: AuditedObject): Record<string, string> {
  const { group, version, resource, subresource, namespace, name } = object;
  const reference: Record<string, string> = { resource };
  if (namespace) reference.namespace = namespace;
  if (name) reference.name = name;
  if (group) reference.apiGroup = group;
  reference.apiVersion = version;
  if (subresource) reference.subresource = subresource;
  return reference;
}

function shortened(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}...TRUNCATED`;
}
