/** What is wrong with the address of a webhook; configurations and definitions name it in the same way. */
import type { WebhookClientConfig, WebhookService } from "#api/admissionregistration";
import { dns1123Subdomain } from "#lib/names";
import { PkiError, pemBlocks } from "#lib/pki";
import { type FieldError, field } from "../errors.ts";

const FORM = "; desired format: https://host[/path]";
const LARGEST_PORT = 65_535;

/** `path` is that of the address. */
export function clientConfigErrors(config: WebhookClientConfig | undefined, path: string): FieldError[] {
  const { url, service } = config ?? {};
  if ((url === undefined) === (service === undefined)) {
    return [field.required(path, "exactly one of url or service is required")];
  }
  if (url !== undefined) return urlErrors(url, `${path}.url`);
  return service ? serviceErrors(service, `${path}.service`) : [];
}

function urlErrors(text: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const [, scheme = "", authority = ""] = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?/i.exec(text) ?? [];
  if (authority !== "" && !URL.canParse(text)) {
    return [field.required(path, `url must be a valid URL: parse ${JSON.stringify(text)}: invalid${FORM}`)];
  }
  if (scheme !== "https") errors.push(field.invalid(path, scheme, `'https' is the only allowed URL scheme${FORM}`));
  if (authority === "") return [...errors, field.invalid(path, "", `host must be specified${FORM}`)];
  const { hash, search } = new URL(text);
  const at = authority.lastIndexOf("@");
  const user = authority.slice(0, Math.max(0, at));
  if (at >= 0) errors.push(field.invalid(path, user, "user information is not permitted in the URL"));
  if (hash.length > 1) errors.push(field.invalid(path, hash.slice(1), "fragments are not permitted in the URL"));
  if (search.length > 1) {
    errors.push(field.invalid(path, search.slice(1), "query parameters are not permitted in the URL"));
  }
  return errors;
}

function serviceErrors({ name, namespace, path: urlPath, port = 0 }: WebhookService, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!name) errors.push(field.required(`${path}.name`));
  if (!namespace) errors.push(field.required(`${path}.namespace`));
  if (port < 1 || port > LARGEST_PORT) {
    const flaw = `port is not valid: must be between 1 and ${LARGEST_PORT}, inclusive`;
    errors.push(field.invalid(`${path}.port`, port, flaw));
  }
  return [...errors, ...pathErrors(urlPath ?? "", `${path}.path`)];
}

function pathErrors(urlPath: string, path: string): FieldError[] {
  if (urlPath === "" || urlPath === "/") return [];
  const flaw = (why: string) => field.invalid(path, urlPath, why);
  if (urlPath === "//") return [flaw("segment[0] may not be empty")];
  const errors = urlPath.startsWith("/") ? [] : [flaw("must start with a '/'")];
  for (const [index, segment] of urlPath.slice(1).replace(/\/$/, "").split("/").entries()) {
    if (segment === "") errors.push(flaw(`segment[${index}] may not be empty`));
    else errors.push(...dns1123Subdomain(segment).map((why) => flaw(`segment[${index}]: ${why}`)));
  }
  return errors;
}

/** Whether a text holds at least one certificate, or something else in that armour. */
export function isPem(text: string): boolean {
  try {
    return pemBlocks(text).length > 0;
  } catch (error) {
    if (error instanceof PkiError) return false;
    throw error;
  }
}
