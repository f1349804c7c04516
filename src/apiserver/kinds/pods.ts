/** Pods, what admission adds to them, and how they are bound and evicted. */
import { randomInt } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { clone, equal } from "#lib/json";
import { conflict, type FieldError, field, forbidden, notFound, plainError, type Subject } from "../errors.ts";
import type { GroupVersionKind, Resource, Subresource, SubresourceRequest } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { ephemeralContainers } from "./ephemeral-containers.ts";
import { eviction } from "./eviction.ts";
import { at, ensure, type Fields, fieldsAt, fill, listAt, numberAt, objectsAt, textAt } from "./fields.ts";
import { containersOf, defaultPod } from "./pod-defaults.ts";
import { podStreams } from "./pod-streams.ts";
import { validatePodChange, validatePodSpec } from "./pod-validation.ts";
import { bodyOf, resource, storageOf } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { pods as table } from "./tables/pods.ts";

const KIND: GroupVersionKind = { group: "", version: "v1", kind: "Pod" };
const BINDING: GroupVersionKind = { group: "", version: "v1", kind: "Binding" };
const STORAGE = storageOf("", "pods");

/** What a Pod says of itself that is not to be put anywhere yet. */
const GATED = {
  type: "PodScheduled",
  status: "False",
  lastProbeTime: null,
  lastTransitionTime: null,
  reason: "SchedulingGated",
  message: "Scheduling is blocked due to non-empty scheduling gates",
};

export function pods(dependencies: KindDependencies): Resource {
  const read =
    (...path: string[]) =>
    (pod: DynamicObject) =>
      textAt(pod, ...path);
  return resource({
    ...KIND,
    plural: "pods",
    namespaced: true,
    shortNames: ["po"],
    categories: ["all"],
    table,
    hasStatus: true,
    initialStatus: (draft) => ({
      phase: "Pending",
      qosClass: qosClass(fieldsAt(draft, "spec")),
      ...(objectsAt(draft, "spec", "schedulingGates").length > 0 && { conditions: [GATED] }),
    }),
    tracksGeneration: true,
    graceFor,
    showsDeleted: true,
    selectableFields: {
      "spec.nodeName": read("spec", "nodeName"),
      "spec.restartPolicy": read("spec", "restartPolicy"),
      "spec.schedulerName": read("spec", "schedulerName"),
      "spec.serviceAccountName": read("spec", "serviceAccountName"),
      "spec.hostNetwork": (pod) => String(at(pod, "spec", "hostNetwork") === true),
      "status.phase": read("status", "phase"),
      "status.podIP": (pod) => textAt(objectsAt(pod, "status", "podIPs")[0], "ip") || textAt(pod, "status", "podIP"),
      "status.podIPs": (pod) => textAt(objectsAt(pod, "status", "podIPs")[0], "ip") || textAt(pod, "status", "podIP"),
      "status.nominatedNodeName": read("status", "nominatedNodeName"),
    },
    default: (draft) => defaultPod(ensure(draft, "spec")),
    admit: (draft) => admitPod(draft, dependencies),
    // Whoever lists tolerations anew may leave these out, and need not know that the server added them.
    prepareForUpdate: (draft) => addTolerations(ensure(draft, "spec")),
    validate: (object) => validatePodSpec(fieldsAt(object, "spec"), "spec"),
    validateChange: (object, current) => validatePodChange(fieldsAt(object, "spec"), fieldsAt(current, "spec")),
    subresources: [
      statusOf(KIND, {
        prepare: keepWhatNodesForget,
        validate(object, current) {
          // A node reports through the status; it must not move the Pod to another class of service by it.
          const [next, before] = [textAt(object, "status", "qosClass"), textAt(current, "status", "qosClass")];
          return next === before || before === "" ? [] : [field.invalid("status.qosClass", next, "field is immutable")];
        },
      }),
      binding(dependencies),
      ephemeralContainers(KIND),
      eviction(dependencies),
      ...podStreams(dependencies),
    ],
  });
}

/** Older nodes leave out what they do not know; that they say nothing of it does not mean that it is gone. */
function keepWhatNodesForget(draft: DynamicObject, current: DynamicObject): void {
  const [status, before] = [ensure(draft, "status"), fieldsAt(current, "status")];
  if (!status.qosClass && before.qosClass) status.qosClass = before.qosClass;
  if (!status.observedGeneration && before.observedGeneration) status.observedGeneration = before.observedGeneration;
}

/** A pod on a node has time to end; one that never ran, or has ended, needs none. */
function graceFor(pod: DynamicObject, asked: number | undefined): number {
  if (textAt(pod, "spec", "nodeName") === "") return 0;
  if (["Failed", "Succeeded"].includes(textAt(pod, "status", "phase"))) return 0;
  const seconds = asked ?? Number(at(pod, "spec", "terminationGracePeriodSeconds") ?? 0);
  return seconds < 0 ? 1 : seconds;
}

function binding(dependencies: KindDependencies): Subresource {
  return {
    name: "binding",
    responseKind: BINDING,
    verbs: ["create"],
    answer: async (request) => {
      await bind(dependencies, { ...request, body: bodyOf(BINDING, request.body) });
      return succeeded();
    },
  };
}

async function bind({ change }: KindDependencies, { parent, body, context }: SubresourceRequest): Promise<void> {
  const node = textAt(body, "target", "name");
  const errors = bindingErrors(body, node);
  const { name, namespace = "" } = parent.metadata;
  // Real servers do not dress these up: clients see an error of the server, and so they do here.
  if (errors.length > 0) throw plainError(errors.map((error) => `${error.field}: ${error.message}`).join(", "));
  if (context.dryRun) return;
  const refusal = (why: string) => conflict({ group: "", kind: "pods/binding", name }, why);
  await change(
    STORAGE,
    `${namespace}/${name}`,
    (pod) => {
      const bound = textAt(pod, "spec", "nodeName");
      if (pod.metadata.deletionTimestamp) throw refusal(`pod ${name} is being deleted, cannot be assigned to a host`);
      if (bound) throw refusal(`pod ${name} is already assigned to node ${JSON.stringify(bound)}`);
      if (objectsAt(pod, "spec", "schedulingGates").length > 0)
        throw refusal(`pod ${name} has non-empty .spec.schedulingGates`);
      ensure(pod, "spec").nodeName = node;
      const { labels, annotations } = body.metadata;
      if (labels) pod.metadata.labels = { ...pod.metadata.labels, ...labels };
      if (annotations) pod.metadata.annotations = { ...pod.metadata.annotations, ...annotations };
      const status = ensure(pod, "status");
      status.conditions = [
        ...objectsAt(status, "conditions").filter(({ type }) => type !== "PodScheduled"),
        { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: timestamp(context.now) },
      ];
    },
    context,
  );
}

function bindingErrors(body: DynamicObject, node: string): FieldError[] {
  const kind = textAt(body, "target", "kind");
  return [
    ...(kind === "" || kind === "Node" ? [] : [field.notSupported("target.kind", kind, ["Node", "<empty>"])]),
    ...(node === "" ? [field.required("target.name")] : []),
  ];
}

/** The same asked for beside the Pod, as old schedulers do. */
export function bindings(dependencies: KindDependencies): Resource {
  return resource({
    ...BINDING,
    plural: "bindings",
    namespaced: true,
    verbs: ["create"],
    answer: async (body, context) => {
      const { namespace = "", name } = body.metadata;
      const parent = dependencies.lookup(STORAGE, `${namespace}/${name}`);
      if (!parent) throw notFound({ group: "", kind: "pods", name });
      await bind(dependencies, { parent, body, context });
      return succeeded();
    },
  });
}

function succeeded(): DynamicObject {
  return { apiVersion: "v1", kind: "Status", metadata: {} as DynamicObject["metadata"], status: "Success", code: 201 };
}

/** What every Pod is given on its way in: an identity, a priority, and patience with failing nodes. */
function admitPod(pod: DynamicObject, dependencies: KindDependencies): void {
  const spec = ensure(pod, "spec");
  addServiceAccount(pod, spec, dependencies);
  addPriority(pod, spec, dependencies);
  addTolerations(spec);
}

/** One that leaves its name to the server has none yet, and is called by what the name will begin with. */
function subjectOf({ metadata }: DynamicObject): Subject {
  const { name, generateName = "" } = metadata;
  return { group: "", kind: "pods", name: name || generateName };
}

const TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
/** An hour and a little, so that the token can be told from one that was asked for by hand. */
const TOKEN_SECONDS = 3607;
const SUFFIX_CHARACTERS = "bcdfghjklmnpqrstvwxz2456789";

function addServiceAccount(pod: DynamicObject, spec: Fields, { lookup }: KindDependencies): void {
  const name = textAt(spec, "serviceAccountName") || "default";
  Object.assign(spec, { serviceAccountName: name, serviceAccount: name });
  const namespace = pod.metadata.namespace ?? "";
  const account = lookup(storageOf("", "serviceaccounts"), `${namespace}/${name}`);
  if (!account) {
    throw forbidden(
      subjectOf(pod),
      `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`,
    );
  }
  if (listAt(spec, "imagePullSecrets").length === 0) {
    const secrets = objectsAt(clone(account), "imagePullSecrets");
    if (secrets.length > 0) spec.imagePullSecrets = secrets;
  }
  if ((at(spec, "automountServiceAccountToken") ?? account.automountServiceAccountToken ?? true) === true)
    mountToken(spec);
}

function mountToken(spec: Fields): void {
  const needing = ["initContainers", "containers"]
    .flatMap((list) => objectsAt(spec, list))
    .filter((container) => !objectsAt(container, "volumeMounts").some(({ mountPath }) => mountPath === TOKEN_PATH));
  if (needing.length === 0) return;
  const suffix = Array.from({ length: 5 }, () => SUFFIX_CHARACTERS[randomInt(SUFFIX_CHARACTERS.length)]).join("");
  const name = `kube-api-access-${suffix}`;
  for (const container of needing) {
    container.volumeMounts = [...listAt(container, "volumeMounts"), { name, readOnly: true, mountPath: TOKEN_PATH }];
  }
  const sources = [
    { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: { items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }] },
    },
  ];
  spec.volumes = [...listAt(spec, "volumes"), { name, projected: { sources, defaultMode: 0o644 } }];
}

/** Classes that exist without being stored. */
const SYSTEM_PRIORITIES = new Map([
  ["system-cluster-critical", 2_000_000_000],
  ["system-node-critical", 2_000_001_000],
]);

function addPriority(pod: DynamicObject, spec: Fields, { lookup }: KindDependencies): void {
  const name = textAt(spec, "priorityClassName");
  const stored = name ? lookup(storageOf("scheduling.k8s.io", "priorityclasses"), name) : undefined;
  if (name && !stored && !SYSTEM_PRIORITIES.has(name)) {
    throw forbidden(subjectOf(pod), `no PriorityClass with name ${name} was found`);
  }
  spec.priority = numberAt(stored, "value") ?? SYSTEM_PRIORITIES.get(name) ?? 0;
  fill(spec, { preemptionPolicy: textAt(stored, "preemptionPolicy") || "PreemptLowerPriority" });
}

const PATIENCE_SECONDS = 300;

function addTolerations(spec: Fields): void {
  const given = objectsAt(spec, "tolerations");
  const added = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    .filter((key) => !given.some((toleration) => tolerates(toleration, key)))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds: PATIENCE_SECONDS }));
  if (added.length > 0) spec.tolerations = [...given, ...added];
}

function tolerates(toleration: Fields, key: string): boolean {
  const keyFits = !toleration.key || toleration.key === key;
  return keyFits && (!toleration.effect || toleration.effect === "NoExecute");
}

/** How a Pod fares when its node runs short, from what its containers ask for and may use. */
export function qosClass(spec: Fields): "BestEffort" | "Burstable" | "Guaranteed" {
  const containers = containersOf({ ...spec, ephemeralContainers: [] }).map((container) =>
    fieldsAt(container, "resources"),
  );
  const asked = (resources: Fields, list: string) => {
    const { cpu, memory } = fieldsAt(resources, list);
    return { cpu, memory };
  };
  const nothing = { cpu: undefined, memory: undefined };
  if (containers.every((each) => equal(asked(each, "limits"), nothing) && equal(asked(each, "requests"), nothing)))
    return "BestEffort";
  const isFull = (each: Fields) => {
    const limits = asked(each, "limits");
    return limits.cpu !== undefined && limits.memory !== undefined && equal(limits, asked(each, "requests"));
  };
  return containers.every(isFull) ? "Guaranteed" : "Burstable";
}
