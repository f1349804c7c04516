/** Which KnativeServing or KnativeEventing somebody means, and how it should be. */
import { ClusterProfile } from "#api/inventory";
import { KnativeComponent, KnativeEventing, KnativeServing, type KnativeServingSpec } from "#api/knative";
import { apiVersionOf, type Kind, keyOf } from "#api/meta";
import { FLEET_NAMESPACE, type KnativeInstallation, knativeState, UsageError, UserError } from "#app";
import { type Client, isNotFound, isUnknownKind } from "#kube";
import { isDeleting } from "#lib/meta";
import { dns1123Subdomain } from "#lib/names";
import { didYouMean } from "#lib/suggestion";
import type { Component, Ingress, InstallationFlags, PlanFlags } from "../commands/knative.ts";
import { installationsOn } from "./get-knative.ts";

export interface Meant {
  readonly kind: Kind<KnativeInstallation>;
  readonly namespace: string;
  readonly name: string;
  /** The ClusterProfile; undefined for the hub itself. */
  readonly ref: { readonly namespace: string; readonly name: string } | undefined;
  /** What is there already. */
  readonly existing: KnativeInstallation | undefined;
}

/** Throws UserError where the flags and what is there do not fit together. */
export async function meant(hub: Client, component: Component, flags: InstallationFlags): Promise<Meant> {
  const kind = kindOf(component);
  const ref = flags.cluster === undefined ? undefined : profileOf(flags.cluster);
  const all = (await installationsOn(hub)).filter((each) => each.kind === kind.kind);
  const cluster = ref && `${ref.namespace}/${ref.name}`;
  const there = all.filter((each) => knativeState(each).cluster === cluster);
  const home = KnativeComponent[kind.kind as keyof typeof KnativeComponent];
  const [only] = there;
  if (only && flags.name === undefined && flags.namespace === undefined) {
    if (there.length > 1)
      throw new UserError(`${kind.kind}s ${listed(there)} ${on(cluster)}; choose one with -n and --name`);
    return { kind, ref, existing: only, namespace: only.metadata.namespace ?? home, name: only.metadata.name };
  }
  const { namespace = home, name = ref?.name ?? home } = flags;
  checkName("--name", name);
  checkName("--namespace", namespace);
  const existing = all.find((each) => keyOf(each) === `${namespace}/${name}`);
  const actual = existing && knativeState(existing).cluster;
  if (existing && actual !== cluster) {
    const where = actual === undefined ? "is on the hub itself" : `is on ${actual}`;
    throw new UserError(
      `${kind.kind} ${namespace}/${name} ${where}, and stays there; ${actual === undefined ? "leave --cluster out" : `say --cluster ${actual}`}, or choose another --name`,
    );
  }
  return { kind, ref, existing, namespace, name };
}

export function kindOf(component: Component): Kind<KnativeInstallation> {
  return (component === "serving" ? KnativeServing : KnativeEventing) as Kind<KnativeInstallation>;
}

function profileOf(cluster: string): { namespace: string; name: string } {
  const [name = "", namespace = FLEET_NAMESPACE, ...more] = cluster.split("/").reverse();
  const [flaw] =
    more.length > 0 ? ["it has more than one slash"] : [...dns1123Subdomain(name), ...dns1123Subdomain(namespace)];
  if (flaw !== undefined) throw new UsageError(`--cluster ${JSON.stringify(cluster)} is no ClusterProfile: ${flaw}`);
  return { namespace, name };
}

function checkName(flag: string, name: string): void {
  const [flaw] = dns1123Subdomain(name);
  if (flaw !== undefined) throw new UsageError(`${flag} ${JSON.stringify(name)} is no name: ${flaw}`);
}

function listed(installations: readonly KnativeInstallation[]): string {
  return installations.map(keyOf).join(" and ");
}

function on(cluster: string | undefined): string {
  return cluster === undefined ? "are on the hub itself" : `are on ${cluster}`;
}

/** Throws UserError where an installation could not come to be. */
export async function checkInstallable(hub: Client, { kind, ref, existing, namespace, name }: Meant): Promise<void> {
  const key = `${namespace}/${name}`;
  if (existing && isDeleting(existing)) {
    throw new UserError(`${kind.kind} ${key} is being removed; wait until it is gone: capstan get knative`);
  }
  if (existing) return;
  const cluster = ref && `${ref.namespace}/${ref.name}`;
  const rival = (await installationsOn(hub)).find(
    (each) => each.kind === kind.kind && knativeState(each).cluster === cluster,
  );
  if (rival && cluster !== undefined) {
    throw new UserError(`${kind.kind} ${keyOf(rival)} is on ${cluster} already; change that one, or remove it first`);
  }
  if (ref) await checkProfile(hub, `${ref.namespace}/${ref.name}`);
}

async function checkProfile(hub: Client, key: string): Promise<void> {
  try {
    await hub.get(ClusterProfile, key);
  } catch (error) {
    if (isUnknownKind(error)) throw new UserError(`${hub.server} has no inventory: it does not know ClusterProfiles`);
    if (!isNotFound(error)) throw error;
    const known = (await hub.list(ClusterProfile)).items.map(keyOf);
    const hint = didYouMean(key, known) || ` (there are ${known.sort().join(", ") || "none"})`;
    throw new UserError(
      `there is no ClusterProfile ${key} on the hub${hint}; correct --cluster, or let the cluster join`,
    );
  }
}

/** The installation as the flags wish it; what they do not speak of stays. */
export function wished(
  { kind, namespace, name, ref, existing }: Meant,
  { version, ingress }: Pick<PlanFlags, "version" | "ingress">,
): KnativeInstallation {
  const before = existing?.spec ?? {};
  const isServing = kind.kind === KnativeServing.kind;
  const chosen = isServing ? (ingress ?? (existing ? undefined : DEFAULT_INGRESS)) : undefined;
  const spec = {
    ...before,
    ...(version !== undefined && { version }),
    ...(ref && { clusterProfileRef: ref }),
    ...(chosen && withIngress(before, chosen)),
  };
  const metadata = existing?.metadata ?? { namespace, name };
  return { ...existing, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, spec };
}

/** The one that needs nothing else on the cluster. */
const DEFAULT_INGRESS: Ingress = "kourier";

/** One ingress in place of all others, and the class by which Knative's own objects choose it. */
function withIngress(
  { ingress: before = {}, config = {} }: KnativeServingSpec,
  ingress: Ingress,
): Pick<KnativeServingSpec, "ingress" | "config"> {
  const others = Object.entries(before).map(([name, settings]) => [name, { ...settings, enabled: false }]);
  if (ingress === "none") return { ingress: { istio: { enabled: false }, ...Object.fromEntries(others) } };
  const network = { ...config.network, "ingress-class": `${ingress}.ingress.networking.knative.dev` };
  return {
    ingress: { ...Object.fromEntries(others), [ingress]: { ...before[ingress], enabled: true } },
    config: { ...config, network },
  };
}
