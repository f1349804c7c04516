/** Where an agent is at home: its Secret, and the names that it keeps there. */
import { randomInt, randomUUID } from "node:crypto";
import { Namespace, Secret, SecretType } from "#api/core";
import { isAlreadyExists, isForbidden, isNotFound } from "#kube";
import type { Logger } from "#lib/log";
import type { Cluster } from "#runtime";
import { type AgentNames, HUB_SECRET, keptNames, namesToKeep } from "./hub-identity.ts";

export interface NamesOptions {
  readonly home: Cluster;
  readonly namespace: string;
  /** Those that were given, if any. */
  readonly clusterName?: string;
  readonly agentName?: string;
  readonly log: Logger;
}

/**
 * The names that were given, else those that are kept with the identity, else new ones; from then on they are kept, so
 * that an agent which is started again asks as the same one.
 */
export async function namesOf(options: NamesOptions): Promise<AgentNames> {
  const { home, namespace, log } = options;
  const secret = await storedSecret(home, namespace);
  const kept = keptNames(secret);
  const names = {
    clusterName: options.clusterName || kept.clusterName || randomUUID(),
    agentName: options.agentName || kept.agentName || randomName(),
  };
  const data = namesToKeep(secret, names);
  if (!data) return names;
  await ensureNamespace(home, namespace);
  const metadata = { name: HUB_SECRET, namespace };
  if (secret) await home.commit(Secret, secret, { ...secret, data: { ...secret.data, ...data } });
  else await home.commit(Secret, undefined, { metadata, type: SecretType.opaque, data });
  if (!options.clusterName && kept.clusterName === "") {
    log.info("nobody gave this cluster a name, so it has one of its own now", { cluster: names.clusterName });
  }
  return names;
}

export async function storedSecret(home: Cluster, namespace: string): Promise<Secret | undefined> {
  try {
    return await home.client.get(Secret, `${namespace}/${HUB_SECRET}`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whoever installs agents makes their namespace; on a bare cluster there is nobody else. */
export async function ensureNamespace(home: Cluster, namespace: string): Promise<void> {
  try {
    await home.client.create(Namespace, { metadata: { name: namespace } });
  } catch (error) {
    if (!isAlreadyExists(error) && !isForbidden(error)) throw error;
  }
}

const NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Five characters, as upstream names its agents. */
function randomName(): string {
  return Array.from({ length: 5 }, () => NAME_CHARACTERS.charAt(randomInt(NAME_CHARACTERS.length))).join("");
}
