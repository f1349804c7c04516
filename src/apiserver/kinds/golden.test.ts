import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isObject } from "#lib/json";
import type { Resource } from "../resource.ts";
import { builtinResources } from "./builtin.ts";
import { type Body, created, dependencies } from "./testing/drafts.ts";

/** Requests and responses of a real kube-apiserver; they lie beside the repository, not in it. */
const RECORDINGS = join(process.cwd(), "../shared/spec/embedded-apiserver-golden.jsonl");
const isThere = existsSync(RECORDINGS);
if (!isThere && process.env.CAPSTAN_REQUIRE?.includes("shared")) throw new Error(`${RECORDINGS} is missing`);

interface Recording {
  section: string;
  method: string;
  path: string;
  body?: unknown;
  status: number;
  response?: { spec?: unknown; status?: unknown; details?: { causes?: { reason: string; field: string }[] } };
}

const recordings = isThere
  ? readFileSync(RECORDINGS, "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Recording)
  : [];

const resources = builtinResources(dependencies());

function resourceAt(path: string): Resource | undefined {
  const [, root, ...rest] = (path.split("?")[0] ?? "").split("/");
  const [group, version, ...steps] = root === "api" ? ["", ...rest] : rest;
  const plural = steps[0] === "namespaces" && steps.length === 3 ? steps[2] : steps.length === 1 ? steps[0] : undefined;
  return resources.find((each) => each.group === group && each.version === version && each.plural === plural);
}

/** The recorded server was of 1.37, which defaults StatefulSets and refuses owners otherwise than 1.36, as we do. */
function isNewer({ path, body }: Recording): boolean {
  const metadata = isObject(body) && isObject(body.metadata) ? body.metadata : {};
  return path.includes("/statefulsets") || (metadata.name === "x" && metadata.ownerReferences !== undefined);
}

/** Creates of kinds that we serve, with a body that a kind has a say in. */
const creates = recordings.flatMap((recording) => {
  const { section, method, path, body, status } = recording;
  if (method !== "POST" || !isObject(body) || path.includes("/nope/") || isNewer(recording)) return [];
  if (!["create", "defaults", "sa-token-secret", "events-leases"].includes(section)) return [];
  const resource = resourceAt(path);
  return resource && (status === 201 || status === 422) && !path.match(/dryRun=Some|fieldValidation=|fieldManager=/)
    ? [{ ...recording, body: body as Body, resource }]
    : [];
});

describe.skipIf(!isThere)("recorded creates of a real server", () => {
  it("are among the recordings", () => {
    expect(creates.length).toBeGreaterThan(10);
  });

  it.each(creates.filter(({ status }) => status === 201))(
    "$section $path is filled in alike",
    ({ resource, body, response }) => {
      const { object, errors } = created(resource, { ...body, metadata: { generateName: "", ...body.metadata } });
      expect(errors).toEqual([]);
      expect(withoutChance(object)).toEqual(withoutChance(response));
    },
  );

  it.each(creates.filter(({ status }) => status === 422))(
    "$section $path is refused alike",
    ({ resource, body, response }) => {
      const { errors } = created(resource, { ...body, metadata: { name: "", ...body.metadata } });
      expect(errors.map(({ reason, message, field }) => ({ reason, message, field }))).toEqual(
        response?.details?.causes,
      );
    },
  );
});

/** Everything but identity and time, with random suffixes made equal. */
function withoutChance(object: unknown): unknown {
  const { metadata, ...rest } = object as { metadata: Record<string, unknown> };
  const { labels, annotations, generation, uid } = metadata;
  const text = JSON.stringify({ ...rest, metadata: { labels, annotations, generation } });
  return JSON.parse(
    text
      .replaceAll(String(uid), "<uid>")
      .replaceAll(/kube-api-access-\w{5}/g, "kube-api-access")
      .replaceAll(/"10\.96\.0\.\d+"/g, '"<address>"'),
  );
}
