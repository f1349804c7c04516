/** What a request means, read from method and URL alone, before anybody asks whether it may. */

export interface RequestInfo {
  readonly path: string;
  readonly query: URLSearchParams;
  /** For resource requests a Kubernetes verb, otherwise the method in lower case. */
  readonly verb: string;
  /** Set for requests below `/api/VERSION/…` and `/apis/GROUP/VERSION/…`. */
  readonly resource?: ResourcePath;
}

export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace?: string;
  readonly resource: string;
  readonly name?: string;
  readonly subresource?: string;
}

const OF_MANY: ReadonlySet<string> = new Set(["list", "watch", "deletecollection"]);

/** Parts of a namespace's URL that belong to the namespace itself and not to a resource within it. */
const NAMESPACE_SUBRESOURCES = new Set(["status", "finalize"]);

export function requestInfo(method: string, url: string): RequestInfo {
  const question = url.indexOf("?");
  const path = question < 0 ? url : url.slice(0, question);
  const query = new URLSearchParams(question < 0 ? "" : url.slice(question + 1));
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decoded);

  const versioned = versionOf(parts);
  if (!versioned || versioned.rest.length === 0) return { path, query, verb: method.toLowerCase() };

  const { group, version } = versioned;
  let { rest } = versioned;
  const deprecatedWatch = rest[0] === "watch" && rest.length > 1;
  if (deprecatedWatch) rest = rest.slice(1);

  const target = targetOf(rest);
  const watching = query.has("watch") && !["false", "0"].includes(query.get("watch") ?? "");
  const verb = deprecatedWatch && method === "GET" ? "watch" : verbOf(method, target.name !== undefined, watching);
  const name = target.name ?? (OF_MANY.has(verb) ? singleName(query) : undefined);
  return { path, query, verb, resource: { group, version, ...target, ...(name !== undefined && { name }) } };
}

function versionOf(parts: string[]): { group: string; version: string; rest: string[] } | undefined {
  const [root, first, second] = parts;
  if (root === "api" && first !== undefined) return { group: "", version: first, rest: parts.slice(2) };
  if (root === "apis" && first !== undefined && second !== undefined) {
    return { group: first, version: second, rest: parts.slice(3) };
  }
  return undefined;
}

function targetOf(rest: string[]): Pick<ResourcePath, "namespace" | "resource" | "name" | "subresource"> {
  const [first = "", second, third, ...more] = rest;
  if (first === "namespaces" && second !== undefined && third !== undefined && !NAMESPACE_SUBRESOURCES.has(third)) {
    const [name, ...subresource] = more;
    return { namespace: second, resource: third, ...nameAndSubresource(name, subresource) };
  }
  const subresource = third === undefined ? [] : [third, ...more];
  return { resource: first, ...nameAndSubresource(second, subresource) };
}

function nameAndSubresource(
  name: string | undefined,
  subresource: string[],
): Pick<ResourcePath, "name" | "subresource"> {
  return {
    ...(name !== undefined && { name }),
    ...(subresource.length > 0 && { subresource: subresource.join("/") }),
  };
}

/** A list or watch of a single name is authorized as if it named the object. */
function singleName(query: URLSearchParams): string | undefined {
  const match = /(?:^|,)metadata\.name==?([^,]+)(?:,|$)/.exec(query.get("fieldSelector") ?? "");
  return match?.[1];
}

function verbOf(method: string, named: boolean, watching: boolean): string {
  switch (method) {
    case "POST":
      return "create";
    case "GET":
    case "HEAD":
      if (named) return "get";
      return watching ? "watch" : "list";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return named ? "delete" : "deletecollection";
    default:
      return method.toLowerCase();
  }
}

function decoded(part: string): string {
  if (!part.includes("%")) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign: no object has such a name, and the lookup will say so
  }
}
