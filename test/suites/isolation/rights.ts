/**
 * Who may do what on a hub, written down from the specification of registration (3.2 and 3.5) and from the decisions
 * about access and detaching (ADR 13 and 21), and from nothing that runs. What is not here is refused.
 */

/** One question to an authorizer; an empty name means all objects, an empty namespace all namespaces or none. */
export interface Probe {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** Verbs on resources of one group: everywhere, or in one namespace only, on all names or on some. */
export interface Right {
  readonly group: string;
  /** `resource` or `resource/subresource`. */
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly namespace?: string;
  readonly names?: readonly string[];
}

export function isAllowed(rights: readonly Right[], probe: Probe): boolean {
  const resource = probe.subresource === "" ? probe.resource : `${probe.resource}/${probe.subresource}`;
  return rights.some(
    ({ group, resources, verbs, namespace, names }) =>
      group === probe.group &&
      resources.includes(resource) &&
      verbs.includes(probe.verb) &&
      (namespace === undefined || namespace === probe.namespace) &&
      (names === undefined || names.includes(probe.name)),
  );
}

const CLUSTER = "cluster.open-cluster-management.io";
const REGISTER = "register.open-cluster-management.io";
const WORK = "work.open-cluster-management.io";
const ADDON = "addon.open-cluster-management.io";
const CERTIFICATES = "certificates.k8s.io";
const READ = ["get", "list", "watch"];

/** Whoever is known at all may ask who they are and what they may do. */
export const anybody: readonly Right[] = [
  {
    group: "authorization.k8s.io",
    resources: ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
    verbs: ["create"],
  },
  { group: "authentication.k8s.io", resources: ["selfsubjectreviews"], verbs: ["create"] },
];

/** With a bootstrap token, of either kind: ask to join, and no more. */
export const bootstrap: readonly Right[] = [
  ...anybody,
  { group: "", resources: ["configmaps"], verbs: ["get"] },
  { group: CERTIFICATES, resources: ["certificatesigningrequests"], verbs: ["create", ...READ] },
  { group: CLUSTER, resources: ["managedclusters"], verbs: ["create", ...READ] },
  { group: CLUSTER, resources: ["managedclustersets/join"], verbs: ["create"] },
];

/** The agents of a cluster that was let in and put out again may still see that it was. */
export function ofDenied(cluster: string): Right[] {
  return [...anybody, { group: CLUSTER, resources: ["managedclusters"], verbs: READ, names: [cluster] }];
}

export function ofAccepted(cluster: string): Right[] {
  return [
    ...ofDenied(cluster),
    { group: CERTIFICATES, resources: ["certificatesigningrequests"], verbs: ["create", ...READ] },
    { group: REGISTER, resources: ["managedclusters/clientcertificates"], verbs: ["renew"] },
    { group: CLUSTER, resources: ["managedclusters"], verbs: ["update"], names: [cluster] },
    { group: CLUSTER, resources: ["managedclusters/status"], verbs: ["patch", "update"], names: [cluster] },
    ...registration(cluster),
    ...work(cluster),
  ];
}

function registration(namespace: string): Right[] {
  return [
    { group: "coordination.k8s.io", resources: ["leases"], verbs: [...READ, "update"], namespace },
    { group: ADDON, resources: ["managedclusteraddons"], verbs: READ, namespace },
    { group: ADDON, resources: ["managedclusteraddons/status"], verbs: ["patch", "update"], namespace },
    { group: "events.k8s.io", resources: ["events"], verbs: ["create"], namespace },
  ];
}

export function work(namespace: string): Right[] {
  return [
    { group: "", resources: ["events"], verbs: ["create", "patch", "update"], namespace },
    { group: "events.k8s.io", resources: ["events"], verbs: ["create", "patch", "update"], namespace },
    { group: WORK, resources: ["manifestworks"], verbs: [...READ, "update", "patch"], namespace },
    { group: WORK, resources: ["manifestworks/status"], verbs: ["patch", "update"], namespace },
  ];
}

/** An agent that grants access may fill the one Secret that the hub made for it. */
export function access(namespace: string): Right {
  return {
    group: "",
    resources: ["secrets"],
    verbs: [...READ, "update"],
    namespace,
    names: ["capstan-cluster-access"],
  };
}

/** The agents of a cluster that was given up see which works are gone, and cross out what they have cleaned. */
export function ledger(namespace: string): Right[] {
  return [
    { group: WORK, resources: ["manifestworks"], verbs: ["list", "watch"], namespace },
    {
      group: "",
      resources: ["configmaps"],
      verbs: [...READ, "update", "patch"],
      namespace,
      names: ["capstan-detach-ledger"],
    },
  ];
}
