import { SelectorError } from "./error.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /** Whether an object matches whose fields `read` tells, missing ones as the empty text. */
  matches(read: (field: string) => string): boolean;
  /** The value that a field must have, if the selector names one: `metadata.name=x` means a single object. */
  exact(field: string): string | undefined;
  toString(): string;
}

/** Reads `metadata.name=x,status.phase!=Running`; the empty text matches everything. Throws SelectorError. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements = terms(text)
    .filter((term) => term !== "")
    .map((term) => parseTerm(term, text));
  return {
    requirements,
    matches: (read) =>
      requirements.every(({ field, operator, value }) => (read(field) === value) === (operator === "=")),
    exact: (wanted) => requirements.find(({ field, operator }) => field === wanted && operator === "=")?.value,
    toString: () => requirements.map(({ field, operator, value }) => `${field}${operator}${escaped(value)}`).join(","),
  };
}

/** The parts between commas that no backslash protects. */
function terms(text: string): string[] {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "\\") {
      at++;
    } else if (text[at] === ",") {
      parts.push(text.slice(start, at));
      start = at + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

function parseTerm(term: string, whole: string): FieldRequirement {
  const match = /!=|==?/.exec(term);
  if (!match) throw new SelectorError(`invalid selector: '${whole}'; can't understand '${term}'`);
  return {
    field: term.slice(0, match.index),
    operator: match[0] === "!=" ? "!=" : "=",
    value: unescaped(term.slice(match.index + match[0].length)),
  };
}

function unescaped(value: string): string {
  let out = "";
  for (let at = 0; at < value.length; at++) {
    const char = value[at] ?? "";
    if (char === "\\") {
      const next = value[++at] ?? "";
      if (next === "" || !"\\,=".includes(next)) {
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${next}`);
      }
      out += next;
    } else if (char === "," || char === "=") {
      throw new SelectorError(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else {
      out += char;
    }
  }
  return out;
}

function escaped(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}
