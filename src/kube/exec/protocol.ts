/** The two messages between a client and a credential plugin: what it is told, and the credential that it answers. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { isObject, stringifyJson } from "#lib/json";
import type { Credential } from "../credentials.ts";
import { parseYaml, YamlError } from "../yaml.ts";
import type { ExecCluster, ExecConfig, ExecVersion } from "./config.ts";
import { ExecError } from "./error.ts";

/** The text of KUBERNETES_EXEC_INFO. */
export function execInfo(config: ExecConfig, cluster: ExecCluster, interactive: boolean): string {
  return stringifyJson({
    apiVersion: config.apiVersion,
    kind: "ExecCredential",
    spec: { ...(config.provideClusterInfo && { cluster }), interactive },
  });
}

/** A credential, and when it ends, in milliseconds since 1970. */
export interface Answer {
  readonly credential: Credential;
  readonly expires?: number;
  /** The certificate's first moment, in milliseconds since 1970. */
  readonly certificateFrom?: number;
  readonly certificateUntil?: number;
}

/** Reads what a plugin wrote, JSON or YAML. Throws an ExecError that quotes none of it. */
export function answerOf(text: string, apiVersion: ExecVersion): Answer {
  const { status } = credentialObject(text, apiVersion);
  if (!isObject(status)) throw malformed("exec plugin didn't return a status field");
  const token = field(status, "token");
  const cert = field(status, "clientCertificateData");
  const key = field(status, "clientKeyData");
  if (!token && !cert && !key) throw malformed("exec plugin didn't return a token or cert/key pair");
  if (!cert !== !key) throw malformed("exec plugin returned only certificate or key, not both");
  const certificate = cert && key ? certificateOf(cert, key) : undefined;
  const stated = expiryOf(field(status, "expirationTimestamp"));
  const ends = [stated, certificate?.until].filter((end) => end !== undefined);
  return {
    credential: { ...(token && { token }), ...(cert && key && { cert, key }) },
    ...(ends.length > 0 && { expires: Math.min(...ends) }),
    ...(certificate && { certificateFrom: certificate.from, certificateUntil: certificate.until }),
  };
}

function credentialObject(text: string, apiVersion: ExecVersion): Record<string, unknown> {
  const object = parsed(text);
  if (!isObject(object)) throw malformed("decoding stdout: it does not hold an object");
  const { apiVersion: version, kind } = object;
  if (version !== apiVersion) {
    const shown = typeof version === "string" && VERSION.test(version) ? version : "unknown";
    throw malformed(`exec plugin is configured to use API version ${apiVersion}, plugin returned version ${shown}`);
  }
  if (kind !== "ExecCredential") throw malformed("decoding stdout: it does not hold an ExecCredential");
  return object;
}

/** What may be repeated in a message: anything else in that place could be a token. */
const VERSION = /^client\.authentication\.k8s\.io\/v[0-9a-z]{1,10}$/;

function parsed(text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw malformed("decoding stdout: it is neither JSON nor YAML");
  }
}

function field(status: Record<string, unknown>, name: string): string {
  const value = status[name] ?? "";
  if (typeof value !== "string") throw malformed(`decoding stdout: status.${name} must be a string`);
  return value;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

function expiryOf(text: string): number | undefined {
  if (text === "") return undefined;
  const time = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time)) throw malformed("decoding stdout: status.expirationTimestamp must be a time of RFC 3339");
  return time;
}

function certificateOf(cert: string, key: string): { from: number; until: number } {
  try {
    createSecureContext({ cert, key });
    const { validFrom, validTo } = new X509Certificate(cert);
    return { from: Date.parse(validFrom), until: Date.parse(validTo) };
  } catch {
    throw malformed("failed parsing client key/certificate: they are not PEM, or do not belong together");
  }
}

function malformed(message: string): ExecError {
  return new ExecError("malformed", message);
}
