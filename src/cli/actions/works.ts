/** Gives works to clusters, shows them, takes them back, and says where they stand. */
import type { ManifestWork } from "#api/work";
import {
  deleteWork,
  explainWork,
  listWorks,
  originOf,
  placeWork,
  planDeletion,
  planWorks,
  statesOf,
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
import { connect, targetAndFleetOf, targetOf, waysToSpokes } from "../target.ts";
import { print, say, table } from "../terminal.ts";
import { administer, explained, sayDone, targetWords } from "./administration.ts";
import { showPlans } from "./works-plan.ts";

export async function runCreateWork(name: string, clusters: readonly string[], flags: CreateWorkFlags): Promise<void> {
  const manifests = await manifestsIn(flags);
  const isPlan = flags.plan ?? flags.dryRun ?? false;
  await administer({ ...flags, dryRun: isPlan }, async (task, _, target) => {
    // A plan is there to show what overwriting would do.
    const wish = { name, clusters, manifests, overwrite: flags.overwrite ?? isPlan };
    if (isPlan) {
      const ways = waysToSpokes(target, flags.clusterprofileProviderFile);
      return showPlans(await planWorks(task, wish, ways), flags.output);
    }
    for (const { cluster, change } of await placeWork(task, wish)) {
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

export async function runDeleteWork(name: string, clusters: readonly string[], flags: DeleteWorkFlags): Promise<void> {
  const { force = false } = flags;
  const isPlan = flags.plan ?? flags.dryRun ?? false;
  await administer({ ...flags, dryRun: isPlan }, async (task, _, target) => {
    if (isPlan) {
      const ways = waysToSpokes(target, flags.clusterprofileProviderFile);
      return showPlans(await planDeletion(task, name, clusters, { ...ways, force }), flags.output);
    }
    await deleteWork(task, name, clusters, { force });
    for (const cluster of clusters) sayDone(`Work ${name} is taken back from cluster ${cluster}`);
    if (force) {
      say("What it brought stays on the cluster, whose agent holds it until somebody confirms that it is to go.");
    }
  });
}

export async function showWorks(flags: WorksFlags): Promise<void> {
  const client = await connect(flags);
  try {
    const found = await listWorks(client, flags.cluster);
    const works = found.map((work) => ({
      ...work,
      apiVersion: "work.open-cluster-management.io/v1",
      kind: "ManifestWork",
    }));
    const list = { apiVersion: "v1", kind: "List", metadata: {}, items: works };
    if (flags.output === "json") print(stringifyJson(list, 2));
    // By way of JSON, because YAML has no word for integers that a number cannot hold.
    else if (flags.output === "yaml") print(yamlText(JSON.parse(stringifyJson(list))));
    else if (works.length === 0) say("There are no works.");
    else {
      const states = await statesOf(client, found);
      const rows = found.map((work, at) => [...row(work), states[at] ?? ""]);
      print(table(["Name", "Cluster", "Manifests", "Applied", "Available", "State"], rows));
    }
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
  const target = await targetAndFleetOf(flags);
  const client = createClient({ connection: target.connection });
  try {
    const ways = waysToSpokes(target, flags.clusterprofileProviderFile);
    const explanation = await explainWork(client, name, flags.cluster, ways);
    if (flags.output === "json") return print(stringifyJson(explanation, 2));
    const { verdict, manifests, next } = explanation;
    print(`Work ${name} of cluster ${flags.cluster}: ${verdict}.`);
    for (const manifest of manifests) {
      print(`  ${markOf(manifest)} ${manifest.object}: ${manifest.says}`);
      if (manifest.next !== undefined) print(`      → ${manifest.next}`);
    }
    if (next !== undefined) say(`Next: ${next}`);
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}

function markOf({ isInPlace, isFlawed }: { readonly isInPlace: boolean; readonly isFlawed?: true }): string {
  if (!isInPlace) return "✗";
  return isFlawed ? "!" : "✓";
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
    for (const { isOwner, work, cluster, hub, record } of works) {
      const named = cluster === undefined ? `ManifestWork ${work}` : `ManifestWork ${cluster}/${work}`;
      const where = hub === undefined ? "of a hub that this cluster does not know any more" : `on the hub ${hub}`;
      print(
        isOwner
          ? `${object} was placed by ${named} ${where}${by}; recorded in AppliedManifestWork ${record}.`
          : `${object} belongs to no work${by}, but ${named} ${where} lists it: it only looks at it, or leaves it behind when it goes; recorded in AppliedManifestWork ${record}.`,
      );
    }
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}
