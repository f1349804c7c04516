import type { Resource, Subresource } from "../resource.ts";

/** The groups that Kubernetes itself brings, in the order in which discovery lists them; all others follow by name. */
const BUILT_IN = [
  "apiregistration.k8s.io",
  "apps",
  "events.k8s.io",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "networking.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "storage.k8s.io",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "scheduling.k8s.io",
  "coordination.k8s.io",
  "node.k8s.io",
  "discovery.k8s.io",
  "resource.k8s.io",
  "flowcontrol.apiserver.k8s.io",
  "storagemigration.k8s.io",
];

const RANK = new Map(BUILT_IN.map((group, index) => [group, index]));

export function compareGroups(a: string, b: string): number {
  const rank = (group: string) => RANK.get(group) ?? BUILT_IN.length;
  return rank(a) - rank(b) || compareText(a, b);
}

const KUBE_VERSION = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;
const STABILITY = { alpha: 1, beta: 2, stable: 3 };

/** Most stable first, then newest; names that are no such version come last, by name. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [KUBE_VERSION.exec(a), KUBE_VERSION.exec(b)];
  if (!left || !right) return left ? -1 : right ? 1 : compareText(a, b);
  return (
    stability(right) - stability(left) || Number(right[1]) - Number(left[1]) || Number(right[3]) - Number(left[3]) || 0
  );
}

/** Those of built-in kinds by name, those of custom kinds as their definition brings them. */
export function subresourcesOf({ builtin, subresources }: Resource): readonly Subresource[] {
  return builtin ? [...subresources].sort((a, b) => compareText(a.name, b.name)) : subresources;
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function stability([, , stage]: RegExpExecArray): number {
  return STABILITY[(stage ?? "stable") as keyof typeof STABILITY];
}
