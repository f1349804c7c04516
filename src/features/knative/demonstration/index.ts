/**
 * Two releases that look like Knative Serving with Kourier and are none: written for Capstan, so that installing,
 * upgrading and removing can be shown where there is no network and nothing to download. Their images do not exist;
 * where Pods are simulated they become ready like any others.
 */
import { memorySource, type ReleaseSource } from "../releases/index.ts";
import { kourierFiles } from "./kourier.ts";
import { servingFiles } from "./serving.ts";

/** The older one holds something that the newer one lacks, for an upgrade to remove. */
const VERSIONS = [
  { version: "1.22.0", minor: "1.22", isOld: true },
  { version: "1.23.0", minor: "1.23", isOld: false },
] as const;

export function demonstrationSource(): ReleaseSource {
  const files = VERSIONS.flatMap(({ version, minor, isOld }) => [
    ...below(`knative-serving/${version}`, servingFiles(version, { isOld })),
    ...below(`ingress/${minor}/kourier`, kourierFiles(version)),
  ]);
  return memorySource("demonstration", Object.fromEntries(files));
}

function below<T>(folder: string, files: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]);
}
