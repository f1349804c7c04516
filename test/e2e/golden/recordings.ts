/** Requests and responses of a real kube-apiserver. They lie beside the repository, not in it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Body, RawEvent } from "../../support/raw.ts";

const FILE = join(process.cwd(), "../shared/spec/embedded-apiserver-golden.jsonl");

export interface Recording {
  /** `section/number`: the name of a recording in the table of differences. */
  readonly id: string;
  readonly section: string;
  readonly user: string | null;
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly status: number | null;
  readonly responseContentType?: string;
  readonly warning?: unknown;
  readonly retryAfter?: string;
  readonly response?: Body | string;
  /** Of a watch; a refused one has its Status here. */
  readonly events?: readonly (RawEvent | Body)[];
}

/** Why there are no recordings here; undefined when there are. Where they are required, missing ones fail. */
export function missingRecordings(): string | undefined {
  if (existsSync(FILE)) return undefined;
  const why = `${FILE} is missing`;
  if (process.env.CAPSTAN_REQUIRE?.split(",").includes("shared")) throw new Error(why);
  return why;
}

/** By section, each in the order it was recorded. */
export function readRecordings(): Map<string, Recording[]> {
  const sections = new Map<string, Recording[]>();
  if (missingRecordings()) return sections;
  for (const line of readFileSync(FILE, "utf8").split("\n")) {
    if (line === "") continue;
    const recording = JSON.parse(line) as Recording;
    const section = sections.get(recording.section) ?? [];
    sections.set(recording.section, section);
    section.push({ ...recording, id: `${recording.section}/${section.length + 1}` });
  }
  return sections;
}
