/** Puts official releases of Knative into a folder for `capstan knative pull`. */
import { resolve } from "node:path";
import { pullKnative } from "#app";
import { yamlText } from "#kube";
import type { PullFlags } from "../commands/knative.ts";
import { print, say, table } from "../terminal.ts";
import { releaseSettings } from "./hub-settings.ts";

/** Enough to compare by eye. */
const SHORT_DIGEST = 12;

export async function runPull(version: string, flags: PullFlags): Promise<void> {
  const files = await pullKnative({
    ...releaseSettings(flags),
    kinds: flags.kind.map((kind) => (kind === "serving" ? "KnativeServing" : "KnativeEventing")),
    version,
    ingresses: flags.ingress.filter((name) => name !== "none"),
    sources: flags.source,
    refresh: flags.refresh ?? false,
  });
  const dir = resolve(flags.knativeCache);
  if (flags.output === "json") print(JSON.stringify({ dir, files }, undefined, 2));
  else if (flags.output === "yaml") print(yamlText({ dir, files }));
  else {
    print(
      table(
        ["File", "Sha256", "State"],
        files.map(({ path, sha256, isNew }) => [path, sha256.slice(0, SHORT_DIGEST), isNew ? "pulled" : "was there"]),
      ),
    );
  }
  say(`${files.length} files are in ${dir}; give it to a hub with --knative-cache or --knative-manifests.`);
}
