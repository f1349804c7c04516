/** What a person sees: lines of talk, colours where there are any, tables. */
import pico from "picocolors";

/** Talk goes to stderr, so that data on stdout can be piped. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** Colours only where a person looks, and never against NO_COLOR. */
export const colours = pico.createColors(Boolean(process.stderr.isTTY) && !process.env.NO_COLOR);

const GAP = 3;

/** Columns as kubectl sets them: upper-case headers, as wide as their widest cell, three blanks between. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headers.map((header) => header.toUpperCase()), ...rows];
  const widths = headers.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + GAP))
        .join("")
        .trimEnd(),
    )
    .join("\n");
}
