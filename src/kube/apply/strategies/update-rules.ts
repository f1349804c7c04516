/**
 * What ManifestWork's strategy Update writes of each kind. Of most kinds everything but metadata and status becomes
 * what the manifest says. A few have parts that others must keep, or that can only change by making the object anew.
 */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { withAnnotations } from "#lib/meta";
import { hashOf } from "../content.ts";
import { groupKindOf, idOf } from "../identity.ts";

export interface UpdateRule {
  /** The manifest as it is created, with what the next update will look for. */
  draft?(manifest: DynamicObject): DynamicObject;
  /** The live object with what the manifest says; metadata is merged elsewhere. */
  next(live: DynamicObject, manifest: DynamicObject): DynamicObject;
  /** Whether the server would refuse the change, and the object must be made anew. */
  mustRecreate?(live: DynamicObject, next: DynamicObject): boolean;
}

/** Tells which specification of a Service was written last: the server fills in too much to compare it. */
const SPEC_HASH = "operator.openshift.io/spec-hash";
const DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class";
const TOKEN = "kubernetes.io/service-account-token";

const everything: UpdateRule = {
  next(live, manifest) {
    const { status, metadata } = live;
    const { metadata: _, ...content } = manifest;
    return {
      ...content,
      apiVersion: live.apiVersion,
      kind: live.kind,
      metadata,
      ...(status !== undefined && { status }),
    };
  },
};

const nothing: UpdateRule = { next: (live) => live };

/** Only these fields, exactly as the manifest has them. */
function only(...fields: readonly string[]): UpdateRule {
  return {
    next(live, manifest) {
      const kept = Object.entries(live).filter(([field]) => !fields.includes(field));
      const wanted = fields.flatMap((field) => (manifest[field] === undefined ? [] : [[field, manifest[field]]]));
      return Object.fromEntries([...kept, ...wanted]) as DynamicObject;
    },
  };
}

/** An aggregated role is filled by a controller. */
const clusterRole: UpdateRule = {
  next: (live, manifest) =>
    (manifest.aggregationRule === undefined ? only("rules", "aggregationRule") : only("aggregationRule")).next(
      live,
      manifest,
    ),
};

const service: UpdateRule = {
  draft: (manifest) => withAnnotations(manifest, { [SPEC_HASH]: hashOf(manifest.spec ?? {}) }),
  next(live, manifest) {
    const spec = isObject(manifest.spec) ? manifest.spec : {};
    const current = isObject(live.spec) ? live.spec : {};
    const hash = hashOf(spec);
    const next = withAnnotations(live, { [SPEC_HASH]: hash });
    const isSame =
      next === live && equal(spec.selector ?? {}, current.selector ?? {}) && typeOf(spec) === typeOf(current);
    if (isSame) return next;
    // An address once given is kept.
    const { clusterIP, clusterIPs } = current;
    const keepsAddress = typeOf(spec) !== "ExternalName" && clusterIP !== undefined;
    return { ...next, spec: { ...(keepsAddress && { clusterIP, clusterIPs }), ...spec } };
  },
};

function typeOf(spec: Record<string, unknown>): unknown {
  return spec.type || "ClusterIP";
}

const secret: UpdateRule = {
  next(live, manifest) {
    const { type = "Opaque", data } = manifest;
    const wanted = isObject(data) ? data : {};
    // The server fills such a Secret with the token itself.
    const next = type === TOKEN ? { ...(isObject(live.data) ? live.data : {}), ...wanted } : wanted;
    const { data: _, ...rest } = live;
    return { ...rest, type, ...(Object.keys(next).length > 0 && { data: next }) };
  },
  mustRecreate: (live, next) => live.type !== next.type || (live.immutable === true && !equal(live.data, next.data)),
};

const storageClass: UpdateRule = {
  next(live, manifest) {
    const next = everything.next(live, manifest);
    const isDefault = live.metadata.annotations?.[DEFAULT_CLASS];
    return isDefault === undefined ? next : withAnnotations(next, { [DEFAULT_CLASS]: isDefault });
  },
  mustRecreate: (live, next) =>
    ["provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"].some(
      (field) => next[field] !== undefined && !equal(live[field], next[field]),
    ),
};

/** What injects the authorities into a configuration must not have to do it again after every change. */
const webhooks: UpdateRule = {
  next(live, manifest) {
    const current = new Map(hooksOf(live).map((hook) => [hook.name, hook.clientConfig]));
    const wanted = hooksOf(manifest).map((hook) => {
      const known = current.get(hook.name);
      const caBundle = isObject(known) ? known.caBundle : undefined;
      if (caBundle === undefined || !isObject(hook.clientConfig) || hook.clientConfig.caBundle) return hook;
      return { ...hook, clientConfig: { ...hook.clientConfig, caBundle } };
    });
    return { ...live, webhooks: wanted };
  },
};

function hooksOf({ webhooks: hooks }: DynamicObject): Record<string, unknown>[] {
  return Array.isArray(hooks) ? hooks.filter(isObject) : [];
}

const RULES: Readonly<Record<string, UpdateRule>> = {
  Namespace: nothing,
  Pod: nothing,
  ServiceAccount: nothing,
  Service: service,
  ConfigMap: only("data", "binaryData"),
  Secret: secret,
  "ClusterRole.rbac.authorization.k8s.io": clusterRole,
  "Role.rbac.authorization.k8s.io": only("rules"),
  "RoleBinding.rbac.authorization.k8s.io": only("subjects", "roleRef"),
  "ClusterRoleBinding.rbac.authorization.k8s.io": only("subjects", "roleRef"),
  "PodDisruptionBudget.policy": only("spec"),
  "NetworkPolicy.networking.k8s.io": only("spec"),
  "CustomResourceDefinition.apiextensions.k8s.io": only("spec"),
  "StorageClass.storage.k8s.io": storageClass,
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io": webhooks,
  "MutatingWebhookConfiguration.admissionregistration.k8s.io": webhooks,
};

export function updateRuleOf(object: DynamicObject): UpdateRule {
  return RULES[groupKindOf(idOf(object))] ?? everything;
}
