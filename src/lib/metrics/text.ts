/** The text format of Prometheus, version 0.0.4. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export function header(name: string, help: string, type: string): string {
  const text = help.replace(/\\/g, "\\\\").replace(/\n/g, "\\n");
  return `# HELP ${name} ${text}\n# TYPE ${name} ${type}\n`;
}

/** `verb="GET",code="200"`: also what tells one series of a family from the others. */
export function labelText(names: readonly string[], values: Readonly<Record<string, string>>): string {
  return names.map((name) => `${name}="${escaped(values[name] ?? "")}"`).join(",");
}

export function line(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${numberText(value)}\n`;
}

export function numberText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  if (value === Number.NEGATIVE_INFINITY) return "-Inf";
  return String(value);
}

const SPECIAL = /[\\"\n]/g;

function escaped(value: string): string {
  return value.replace(SPECIAL, (char) => (char === "\n" ? "\\n" : `\\${char}`));
}
