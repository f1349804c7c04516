const LABEL_LENGTH = 63;
const SUBDOMAIN_LENGTH = 253;

// Each pattern splits a text in one way only, so that a long hostile text costs time in proportion to its
// length. The messages show the patterns of Kubernetes, which accept the same texts.
const ALNUM = "[a-z0-9]+(?:-+[a-z0-9]+)*";
const DNS1123_LABEL = new RegExp(`^${ALNUM}$`);
const DNS1123_SUBDOMAIN = new RegExp(`^${ALNUM}(?:\\.${ALNUM})*$`);
const DNS1035_LABEL = /^[a-z][a-z0-9]*(?:-+[a-z0-9]+)*$/;
const QUALIFIED_PART = /^[A-Za-z0-9]+(?:[-_.]+[A-Za-z0-9]+)*$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;

const DNS1123_LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1123_SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_TEXT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** A DNS label (RFC 1123): namespaces, container names. */
export function dns1123Label(text: string): string[] {
  return [...tooLong(text, LABEL_LENGTH), ...unlike(text, DNS1123_LABEL, DNS1123_LABEL_TEXT)];
}

/** DNS labels joined by dots (RFC 1123): the names of most kinds. */
export function dns1123Subdomain(text: string): string[] {
  return [...tooLong(text, SUBDOMAIN_LENGTH), ...unlike(text, DNS1123_SUBDOMAIN, DNS1123_SUBDOMAIN_TEXT)];
}

/** A DNS label that starts with a letter (RFC 1035): Services. */
export function dns1035Label(text: string): string[] {
  return [...tooLong(text, LABEL_LENGTH), ...unlike(text, DNS1035_LABEL, DNS1035_LABEL_TEXT)];
}

/** `name` or `example.com/name`: keys of labels and annotations, finalizers. */
export function qualifiedName(text: string): string[] {
  const parts = text.split("/");
  if (parts.length > 2) {
    return [
      `a qualified name ${QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const [prefix, name = ""] = parts.length === 2 ? parts : [undefined, parts[0]];
  const problems: string[] = [];
  if (prefix === "") problems.push("prefix part must be non-empty");
  else if (prefix !== undefined) problems.push(...dns1123Subdomain(prefix).map((problem) => `prefix part ${problem}`));
  if (name === "") problems.push("name part must be non-empty");
  else problems.push(...tooLong(name, LABEL_LENGTH).map((problem) => `name part ${problem}`));
  problems.push(...unlike(name, QUALIFIED_PART, `name part ${QUALIFIED_TEXT}`));
  return problems;
}

/** The value of a label; it may be empty. */
export function labelValue(text: string): string[] {
  if (text === "") return [];
  return [...tooLong(text, LABEL_LENGTH), ...unlike(text, QUALIFIED_PART, LABEL_VALUE_TEXT)];
}

/** Anything that can stand between two slashes of a URL: RBAC kinds, whose names carry colons. */
export function pathSegment(text: string): string[] {
  if (text === "." || text === "..") return [`may not be '${text}'`];
  return ["/", "%"].filter((char) => text.includes(char)).map((char) => `may not contain '${char}'`);
}

/** A key in the data of a ConfigMap or Secret, which may become a file name. */
export function configKey(text: string): string[] {
  const problems = [...tooLong(text, SUBDOMAIN_LENGTH), ...unlike(text, CONFIG_KEY, CONFIG_KEY_TEXT)];
  if (text === ".") problems.push("must not be '.'");
  else if (text === "..") problems.push("must not be '..'");
  else if (text.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}

function tooLong(text: string, max: number): string[] {
  return Buffer.byteLength(text) > max ? [`must be no more than ${max} bytes`] : [];
}

function unlike(text: string, pattern: RegExp, problem: string): string[] {
  return pattern.test(text) ? [] : [problem];
}
