/** What a node's refusals become for the client of the API server, in the words that clients branch on. */
import { ApiError, badRequest, internalError } from "../errors.ts";

const RESOURCE = "pods/log";

const KNOWN: ReadonlyMap<number, readonly [reason: string, message: string]> = new Map([
  [401, ["Unauthorized", "the server has asked for the client to provide credentials"]],
  [404, ["NotFound", "the server could not find the requested resource"]],
  [405, ["MethodNotAllowed", "the server does not allow this method on the requested resource"]],
  [422, ["Invalid", "the server rejected our request due to an error in our request"]],
  [503, ["ServiceUnavailable", "the server is currently unable to handle the request"]],
]);

export function refusalOf(pod: string, code: number, text: string): ApiError {
  if (code === 400) return badRequest(text);
  if (code === 500) return internalError(text);
  const [reason, message] = KNOWN.get(code) ?? [undefined, unexpected(code, text)];
  const details = { kind: RESOURCE, name: pod };
  return new ApiError(code, code === 403 ? "Forbidden" : reason, `${message} ( ${RESOURCE} ${pod})`, details);
}

function unexpected(code: number, text: string): string {
  if (code === 403) return text;
  if (code >= 500) return `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding`;
  return `the server responded with the status code ${code} but did not return more information`;
}
