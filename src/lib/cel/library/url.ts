/** URLs. */
import { failure } from "../errors.ts";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { NativeMap, Opaque } from "../values.ts";

export const URL_TYPE = "kubernetes.URL";

interface Parts {
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class UrlValue extends Opaque {
  readonly typeName = URL_TYPE;
  readonly text: string;
  readonly parts: Parts;

  constructor(text: string, parts: Parts) {
    super();
    this.text = text;
    this.parts = parts;
  }

  equals(other: Opaque): boolean {
    return other instanceof UrlValue && other.text === this.text;
  }

  /** The host without its port, and without the brackets of an IPv6 address. */
  get hostname(): string {
    return /^\[(.*)\]/.exec(this.parts.host)?.[1] ?? this.parts.host.replace(/:\d*$/, "");
  }

  get port(): string {
    return /:(\d*)$/.exec(this.parts.host.replace(/^\[.*\]/, ""))?.[1] ?? "";
  }
}

const SYNTAX = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:[^/?#@]*@)?([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;
const HOST = /^(?:\[[0-9A-Fa-f:.%]+\]|[^\s[\]:<>"\\^`{|}]*)(?::\d*)?$/;

/** An absolute URL, or a path from the root: what a request may name. */
function readUrl(text: string): UrlValue | undefined {
  const found = SYNTAX.exec(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (!found || text === "" || /[\x00-\x1f\x7f]/.test(text)) return undefined;
  const [, scheme = "", host = "", path = "", query = ""] = found;
  if (scheme === "" && !path.startsWith("/")) return undefined;
  if (/%(?![0-9A-Fa-f]{2})/.test(path + host) || !HOST.test(host)) return undefined;
  return new UrlValue(text, { scheme: scheme.toLowerCase(), host, path: escaped(path), query });
}

/** The path with what may not stand in one written as escapes. */
function escaped(path: string): string {
  return path.replace(/[^A-Za-z0-9\-._~!$&'()*+,;=:@/%[\]]/gu, (char) => encodeURIComponent(char));
}

function queryOf(query: string): NativeMap {
  const values = new Map<string, string[]>();
  for (const part of query.split("&")) {
    if (part === "" || part.includes(";")) continue;
    const [key = "", ...rest] = part.split("=");
    const [name, value] = [unescaped(key), unescaped(rest.join("="))];
    if (name !== undefined && value !== undefined) values.set(name, [...(values.get(name) ?? []), value]);
  }
  return new NativeMap(values);
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return undefined;
  }
}

const getter = (name: string, result: string, call: (url: UrlValue) => string | NativeMap): FunctionDeclaration =>
  declare(name, overload(`url_${name}`, `${URL_TYPE}.() -> ${result}`, call));

export const urlLibrary: readonly FunctionDeclaration[] = [
  declare(
    "url",
    overload("string_to_url", `(string) -> ${URL_TYPE}`, (text: string) => {
      const url = readUrl(text);
      if (!url)
        throw failure(
          `URL parse error during conversion from string: parse ${JSON.stringify(text)}: invalid URI for request`,
        );
      return url;
    }),
  ),
  declare(
    "isURL",
    overload("is_url_string", "(string) -> bool", (text: string) => readUrl(text) !== undefined),
  ),
  getter("getScheme", "string", ({ parts }) => parts.scheme),
  getter("getHost", "string", ({ parts }) => parts.host),
  getter("getHostname", "string", ({ hostname }) => hostname),
  getter("getPort", "string", ({ port }) => port),
  getter("getEscapedPath", "string", ({ parts }) => parts.path),
  getter("getQuery", "map(string, list(string))", ({ parts }) => queryOf(parts.query)),
];
