import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isObject } from "#lib/json";
import type { Body } from "../kinds/testing/drafts.ts";
import { created, find } from "../kinds/testing/drafts.ts";
import { strategicMerge } from "./index.ts";

/** Requests and responses of a real kube-apiserver; they lie beside the repository, not in it. */
const RECORDINGS = join(process.cwd(), "../shared/spec/embedded-apiserver-golden.jsonl");
const isThere = existsSync(RECORDINGS);
if (!isThere && process.env.CAPSTAN_REQUIRE?.includes("shared")) throw new Error(`${RECORDINGS} is missing`);

interface Recording {
  section: string;
  contentType?: string;
  body?: unknown;
  status: number;
  response: { kind?: string; message?: string; metadata: Record<string, unknown>; spec?: unknown };
}

const recordings = (isThere ? readFileSync(RECORDINGS, "utf8").split("\n") : [])
  .filter((line) => line !== "")
  .map((line) => JSON.parse(line) as Recording)
  .filter(({ section }) => section === "smp");

/** Every strategic patch, with the Deployment as the answer before it showed it. */
const patches = recordings.flatMap((recording, index) => {
  const { contentType, body } = recording;
  if (contentType !== "application/strategic-merge-patch+json" || !isObject(body)) return [];
  const before = recordings.slice(0, index).findLast(({ response }) => response.kind === "Deployment")?.response;
  return before ? [{ ...recording, body, text: JSON.stringify(body), before: { ...before } }] : [];
});

const merge = ({ before, body }: (typeof patches)[number]) => strategicMerge("apps/v1#Deployment", before, body);

describe.skipIf(!isThere)("recorded strategic merge patches of a real server", () => {
  it("are among the recordings", () => {
    expect(patches.length).toBeGreaterThan(9);
  });

  it.each(patches.filter(({ status }) => status === 200))("$text", (recording) => {
    const { object } = created(find("Deployment", "apps"), merge(recording) as Body);
    const { labels, finalizers } = recording.response.metadata;
    expect(object.spec).toEqual(recording.response.spec);
    expect(object.metadata.labels).toEqual(labels);
    expect(object.metadata.finalizers).toEqual(finalizers);
  });

  it.each(patches.filter(({ status }) => status === 500))("$text is refused", (recording) => {
    expect(() => merge(recording)).toThrow(recording.response.message);
  });
});
