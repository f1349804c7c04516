/** Gives works to clusters, shows them, takes them back, and says where they stand. */
import type { ManifestWork } from "#api/work";
import {
  deleteWork,
  explainWork,
  listWorks,
  originOf,
  type PlacedWork,
  type PlannedObject,
  placeWork,
  UserError,
} from "#app";
import { createClient, ManifestError, readManifests, yamlText } from "#kube";
import { findCondition } from "#lib/conditions";
import { stringifyJson } from "#lib/json";
import type {
  CreateWorkFlags,
  DeleteWorkFlags,
  KindAndName,
  WhoFlags,
  WhyFlags,
  WorksFlags,
} from "../commands/works.ts";
import { standardInput } from "../standard-input.ts";
import { connect, targetOf } from "../target.ts";
import { print, say, table } from "../terminal.ts";
import { administer, explained, sayDone, showPlan, targetWords } from "./administration.ts";

export async function runCreateWork(name: string, clusters: readonly string[], flags: CreateWorkFlags): Promise<void> {
  const manifests = await manifestsIn(flags);
  const isPlan = flags.plan ?? flags.dryRun ?? false;
  await administer({ ...flags, dryRun: isPlan }, async (task) => {
    // A plan is there to show what overwriting would do.
    const wish = { name, clusters, manifests, overwrite: flags.overwrite ?? isPlan };
    const placed = await placeWork(task, wish);
    if (isPlan) return showPlanned(placed, flags.output);
    for (const { cluster, change } of placed) {
      const how = { create: "given to", change: "changed for", keep: "with", delete: "taken from" }[change.action];
      sayDone(`Work ${name} is ${change.action === "keep" ? "already " : ""}${how} cluster ${cluster}`);
    }
    const [first = ""] = clusters;
    say(`See how it fares: capstan why work ${name} -c ${first}${targetWords(flags)}`);
  });
}

async function manifestsIn({ filename, recursive = false }: CreateWorkFlags) {
  try {
    const found = await readManifests(filename, { stdin: standardInput, recursive });
    return found.map(({ object }) => object);
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    if (error.problems.length > 1) for (const problem of error.problems) say(problem);
    throw new UserError(`${error.message}; nothing was changed`, { cause: error });
  }
}

/** Longer values are cut in a table; data has them whole. */
const LONGEST_CELL = 60;

function showPlanned(placed: readonly PlacedWork[], output: CreateWorkFlags["output"]): void {
  if (output === "json") {
    print(
      stringifyJson(
        { plan: true, clusters: placed.map(({ cluster, objects }) => ({ cluster, objects: objects.map(value) })) },
        2,
      ),
    );
  } else {
    const rows = placed.flatMap(({ cluster, objects }) => objects.flatMap((object) => planRows(cluster, object)));
    print(table(["Cluster", "Action", "Kind", "Name", "Change"], rows));
  }
  const all = placed.flatMap(({ objects }) => objects);
  const counts = (["create", "update", "remove", "keep"] as const).flatMap((action) => {
    const count = all.filter((object) => object.action === action).length;
    return count > 0 ? [action === "keep" ? `${count} unchanged` : `${count} to ${action}`] : [];
  });
  say(
    `Plan for ${placed.length === 1 ? "one cluster" : `${placed.length} clusters`}: ${counts.join(", ")}. Nothing was changed.`,
  );
}

function value({ difference, ...object }: PlannedObject): object {
  const { changes, more } = difference;
  return { ...object, changes, ...(more > 0 && { moreChanges: more }) };
}

function planRows(cluster: string, { action, kind, namespace, name, difference }: PlannedObject): string[][] {
  const place = namespace ? `${namespace}/${name}` : name;
  const head = [cluster, action === "keep" ? "unchanged" : action, kind, place, ""];
  if (action !== "update") return [head];
  const changes = difference.changes.map(({ path, before, after }) => [
    "",
    "",
    "",
    "",
    `${path}: ${cell(before)} → ${cell(after)}`,
  ]);
  return [head, ...changes, ...(difference.more > 0 ? [["", "", "", "", `and ${difference.more} more`]] : [])];
}

function cell(shown: unknown): string {
  if (shown === undefined) return "(none)";
  const text = stringifyJson(shown);
  return text.length > LONGEST_CELL ? `${text.slice(0, LONGEST_CELL)}…` : text;
}

export async function runDeleteWork(name: string, clusters: readonly string[], flags: DeleteWorkFlags): Promise<void> {
  await administer(flags, async (task) => {
    const changes = await deleteWork(task, name, clusters, { force: flags.force ?? false });
    if (task.dryRun) return showPlan(changes);
    for (const cluster of clusters) sayDone(`Work ${name} is taken back from cluster ${cluster}`);
    if (flags.force) {
      say("What it brought stays on the cluster, whose agent holds it until somebody confirms that it is to go.");
    }
  });
}

export async function showWorks(flags: WorksFlags): Promise<void> {
  const client = await connect(flags);
  try {
    const works = (await listWorks(client, flags.cluster)).map((work) => ({
      ...work,
      apiVersion: "work.open-cluster-management.io/v1",
      kind: "ManifestWork",
    }));
    const list = { apiVersion: "v1", kind: "List", metadata: {}, items: works };
    if (flags.output === "json") print(stringifyJson(list, 2));
    // By way of JSON, because YAML has no word for integers that a number cannot hold.
    else if (flags.output === "yaml") print(yamlText(JSON.parse(stringifyJson(list))));
    else if (works.length === 0) say("There are no works.");
    else print(table(["Name", "Cluster", "Manifests", "Applied", "Available"], works.map(row)));
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}

function row({ metadata, spec, status }: ManifestWork): string[] {
  const said = (type: string) => findCondition(status?.conditions, type)?.status ?? "";
  const manifests = String(spec?.workload?.manifests?.length ?? 0);
  return [metadata.name, metadata.namespace ?? "", manifests, said("Applied"), said("Available")];
}

export async function runWhyWork(name: string, flags: WhyFlags): Promise<void> {
  const client = await connect(flags);
  try {
    const explanation = await explainWork(client, name, flags.cluster);
    if (flags.output === "json") return print(stringifyJson(explanation, 2));
    const { verdict, manifests, next } = explanation;
    print(`Work ${name} of cluster ${flags.cluster}: ${verdict}.`);
    for (const { object, isInPlace, says } of manifests) print(`  ${isInPlace ? "✓" : "✗"} ${object}: ${says}`);
    if (next !== undefined) say(`Next: ${next}`);
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}

export async function runWho({ kind, name }: KindAndName, flags: WhoFlags): Promise<void> {
  const connection = await targetOf(flags);
  const client = createClient({ connection });
  try {
    const namespace = flags.namespace ?? connection.namespace ?? "default";
    const { chain, works } = await originOf(client, { kind, name, namespace });
    if (flags.output === "json") return print(stringifyJson({ chain, works }, 2));
    const [object = "", ...owners] = chain;
    const by = owners.length > 0 ? ` (by way of ${owners.join(", ")})` : "";
    if (works.length === 0) return print(`${object} was not placed by a work${by}.`);
    for (const { work, cluster, hub, record } of works) {
      const named = cluster === undefined ? `ManifestWork ${work}` : `ManifestWork ${cluster}/${work}`;
      const where = hub === undefined ? "of a hub that this cluster does not know any more" : `on the hub ${hub}`;
      print(`${object} was placed by ${named} ${where}${by}; recorded in AppliedManifestWork ${record}.`);
    }
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}
