/** Why a call came to nothing, in the words that people search for: those of kube-apiserver. */
import { isIP } from "node:net";
import { isObject, parseJson } from "#lib/json";

export const DEADLINE = "context deadline exceeded";

/** What keeps a certificate from being believed, by the code that the TLS library gives. */
const DISTRUST: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: "x509: certificate has expired or is not yet valid",
  CERT_NOT_YET_VALID: "x509: certificate has expired or is not yet valid",
  DEPTH_ZERO_SELF_SIGNED_CERT: "x509: certificate signed by unknown authority",
  SELF_SIGNED_CERT_IN_CHAIN: "x509: certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT: "x509: certificate signed by unknown authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "x509: certificate signed by unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "x509: certificate signed by unknown authority",
  INVALID_PURPOSE: "x509: certificate specifies an incompatible key usage",
};

interface ConnectionError extends NodeJS.ErrnoException {
  readonly address?: string;
  readonly port?: number;
  readonly host?: string;
  readonly reason?: string;
  readonly cert?: { readonly subjectaltname?: string };
}

/** Why there was no answer at all. */
export function connectionFailure(error: unknown, url: URL): string {
  const { code = "", message, address, port, ...more } = error as ConnectionError & { message: string };
  const distrust = DISTRUST[code];
  if (distrust !== undefined) return `tls: failed to verify certificate: ${distrust}`;
  switch (code) {
    case "ECONNREFUSED":
      return `dial tcp ${address}:${port}: connect: connection refused`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `dial tcp: lookup ${url.hostname}: no such host`;
    case "ENETUNREACH":
      return `dial tcp ${address}:${port}: connect: network is unreachable`;
    case "EHOSTUNREACH":
      return `dial tcp ${address}:${port}: connect: no route to host`;
    case "ECONNRESET":
      return message.includes("socket hang up") ? "EOF" : "read: connection reset by peer";
    case "EPIPE":
      return "write: broken pipe";
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
      return "http: server gave HTTP response to HTTPS client";
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return `tls: failed to verify certificate: ${nameFlaw(more)}`;
    default:
      return message;
  }
}

function nameFlaw({ cert, host = "", reason = "" }: Pick<ConnectionError, "cert" | "host" | "reason">): string {
  if (cert?.subjectaltname === undefined) return reason;
  const kind = isIP(host) ? "IP Address" : "DNS";
  const names = cert.subjectaltname
    .split(", ")
    .filter((name) => name.startsWith(`${kind}:`))
    .map((name) => name.slice(kind.length + 1));
  if (names.length > 0) return `x509: certificate is valid for ${names.join(", ")}, not ${host}`;
  return isIP(host)
    ? `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`
    : `x509: certificate is not valid for any names, but wanted to match ${host}`;
}

/** By code, where the body has nothing to say. */
const ANSWERS: Readonly<Record<number, string>> = {
  400: "the server rejected our request for an unknown reason",
  401: "the server has asked for the client to provide credentials",
  404: "the server could not find the requested resource",
  405: "the server does not allow this method on the requested resource",
  409: "the server reported a conflict",
  422: "the server rejected our request due to an error in our request",
  429: "the server has received too many requests and has asked us to try again later",
  503: "the server is currently unable to handle the request",
  504: "the server was unable to return a response in the time allotted, but may still be processing the request",
};

/** Of what a broken webhook says, so much is repeated. */
const LONGEST_QUOTE = 2048;

/** What an answer means that is no success. */
export function answerFailure(code: number, contentType: string | undefined, text: string): string {
  const status = statusMessage(text);
  if (status !== undefined) return status;
  const isText = contentType === undefined || contentType.startsWith("text/");
  const quoted = (isText && text.trim().slice(0, LONGEST_QUOTE)) || "unknown";
  if (code === 403 || code === 406 || code === 415) return quoted;
  const known = ANSWERS[code];
  if (known !== undefined) return known;
  if (code >= 500)
    return `an error on the server (${JSON.stringify(quoted)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}

/** Some webhooks answer as API servers do. */
function statusMessage(text: string): string | undefined {
  try {
    const status = parseJson(text);
    const isStatus = isObject(status) && status.kind === "Status" && status.apiVersion === "v1";
    return isStatus && typeof status.message === "string" && status.message !== "" ? status.message : undefined;
  } catch {
    return undefined;
  }
}
