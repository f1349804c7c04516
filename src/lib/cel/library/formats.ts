/** Formats by name: `format.dns1123Label().validate(name)`. */
import { dns1035Label, dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "#lib/names";
import { declare, type FunctionDeclaration, overload } from "../functions.ts";
import { readTimestamp } from "../time.ts";
import { Opaque, Optional } from "../values.ts";

export const FORMAT_TYPE = "kubernetes.NamedFormat";

type Check = (text: string) => readonly string[];

class Format extends Opaque {
  readonly typeName = FORMAT_TYPE;
  readonly name: string;
  readonly check: Check;

  constructor(name: string, check: Check) {
    super();
    this.name = name;
    this.check = check;
  }

  equals(other: Opaque): boolean {
    return other instanceof Format && other.name === this.name;
  }
}

/** A prefix may end where a generated suffix goes on. */
const asPrefix =
  (check: Check): Check =>
  (text) =>
    check(text.endsWith("-") ? `${text.slice(0, -1)}a` : text);

const unless =
  (pattern: RegExp, complaint: string): Check =>
  (text) =>
    pattern.test(text) ? [] : [complaint];

const CHECKS: Readonly<Record<string, Check>> = {
  dns1123Label,
  dns1123Subdomain,
  dns1035Label,
  qualifiedName,
  dns1123LabelPrefix: asPrefix(dns1123Label),
  dns1123SubdomainPrefix: asPrefix(dns1123Subdomain),
  dns1035LabelPrefix: asPrefix(dns1035Label),
  labelValue,
  uri: unless(/^(?:[A-Za-z][A-Za-z0-9+.-]*:|\/)[^\s]*$/, "invalid URI for request"),
  uuid: unless(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i, "does not match the UUID format"),
  byte: unless(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, "invalid base64"),
  date: (text) => (readTimestamp(`${text}T00:00:00Z`) ? [] : ["invalid date"]),
  datetime: (text) => (readTimestamp(text) ? [] : ["invalid datetime"]),
};

const FORMATS = new Map(Object.entries(CHECKS).map(([name, check]) => [name, new Format(name, check)]));

export const formatLibrary: readonly FunctionDeclaration[] = [
  ...[...FORMATS].map(([name, format]) =>
    declare(
      `format.${name}`,
      overload(`format.${name}`, `() -> ${FORMAT_TYPE}`, () => format),
    ),
  ),
  declare(
    "format.named",
    overload("format-named", `(string) -> optional(${FORMAT_TYPE})`, (name: string) => {
      const format = FORMATS.get(name);
      return format ? Optional.of(format) : Optional.none;
    }),
  ),
  declare(
    "validate",
    overload(
      "format-validate",
      `${FORMAT_TYPE}.(string) -> optional(list(string))`,
      ({ check }: Format, text: string) => {
        const complaints = check(text);
        return complaints.length === 0 ? Optional.none : Optional.of(complaints);
      },
    ),
  ),
];
