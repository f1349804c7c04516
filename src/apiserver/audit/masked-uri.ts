/** Parameters whose names sound as if their values opened doors. The `continue` of a list opens none. */
const SECRET = /token|secret|password|passwd|credential|authorization|signature|api[-_]?key/i;

const MASK = "REDACTED";
const LONGEST = 4096;

/** The URI of a request without what could be a credential, and not longer than a line should be. */
export function maskedUri(uri: string): string {
  const question = uri.indexOf("?");
  const masked = question < 0 ? uri : `${uri.slice(0, question)}?${maskedQuery(uri.slice(question + 1))}`;
  return masked.length <= LONGEST ? masked : `${masked.slice(0, LONGEST)}...TRUNCATED`;
}

function maskedQuery(query: string): string {
  return query
    .split("&")
    .map((pair) => {
      const [name = ""] = pair.split("=", 1);
      return pair.includes("=") && SECRET.test(decoded(name)) ? `${name}=${MASK}` : pair;
    })
    .join("&");
}

/** As servers read it: a name is still itself when it is written in percent signs. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name.replace(/\+/g, " "));
  } catch {
    return name;
  }
}
