/** Every CustomResourceDefinition that clients and agents expect gets the same answer from both servers. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { isKubeError, parseYaml } from "#kube";
import { isTrue } from "#lib/conditions";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const folder = fileURLToPath(new URL("../../../shared/upstream/crds", import.meta.url));

function whyNot(): string | undefined {
  const missing = missingControlPlane();
  if (missing || existsSync(folder)) return missing;
  if (process.env.CAPSTAN_REQUIRE?.split(",").includes("shared")) throw new Error(`${folder} is missing`);
  return `${folder} is missing`;
}

const missing = whyNot();
const files = missing ? [] : readdirSync(folder).filter((file) => file.endsWith(".yaml"));

/** Two of the files are templates: the webhook that their conversion names is filled in when they are installed. */
function definitionIn(file: string): CustomResourceDefinition {
  const text = readFileSync(join(folder, file), "utf8");
  const definition = parseYaml(text.replace(/\{\{.*?\}\}/g, "")) as CustomResourceDefinition;
  if (/\{\{/.test(text)) delete definition.spec.conversion;
  return definition;
}

describe.skipIf(missing)(`upstream's definitions${missing ? ` (${missing})` : ""}`, () => {
  let servers: TestServer[] = [];
  beforeAll(async () => {
    servers = await Promise.all([startEmbedded("embedded"), startControlPlane("real")]);
  }, 180_000);
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
  }, 60_000);

  it.each(files)("%s", async (file) => {
    const [embedded, real] = await Promise.all(servers.map((server) => answer(server, definitionIn(file))));
    expect(embedded).toEqual(real);
  });
});

interface Answer {
  readonly code: number;
  readonly reason?: string;
  readonly causes?: { reason: string | undefined; field: string | undefined }[];
  readonly names?: unknown;
}

/** Created, established and gone again, because two files define the same kind; or refused, and why. */
async function answer({ client }: TestServer, definition: CustomResourceDefinition): Promise<Answer> {
  const { name } = definition.metadata;
  try {
    await client.create(CustomResourceDefinition, definition);
  } catch (error) {
    if (!isKubeError(error) || !error.status) throw error;
    const causes = (error.status.details?.causes ?? []).map(({ reason, field }) => ({ reason, field }));
    return { code: error.code ?? 0, ...(error.reason && { reason: error.reason }), causes };
  }
  const established = await eventually(async () => {
    const found = await client.get(CustomResourceDefinition, name);
    expect(isTrue(found.status?.conditions, "Established")).toBe(true);
    return found;
  });
  await client.delete(CustomResourceDefinition, name);
  await eventually(() => expect(client.get(CustomResourceDefinition, name)).rejects.toMatchObject({ code: 404 }));
  return { code: 201, names: established.status?.acceptedNames };
}
