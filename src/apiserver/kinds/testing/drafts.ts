/** What tests of kinds share: dependencies that stand still, and a create and an update as the verbs do them. */
import { apiVersionOf, type DynamicObject, type ObjectMeta } from "#api/meta";
import { timestamp } from "#lib/clock";
import { clone } from "#lib/json";
import type { FieldError } from "../../errors.ts";
import type { RequestContext, Resource } from "../../resource.ts";
import { builtinResources } from "../builtin.ts";
import type { KindDependencies } from "../dependencies.ts";
import { validateObjectMeta, validateObjectMetaUpdate } from "../validation.ts";

export const NOW = new Date("2026-01-01T00:00:00Z");

export const context: RequestContext = {
  user: { username: "alice", uid: "u-1", groups: ["devs", "system:authenticated"] },
  now: NOW,
  dryRun: false,
  fieldManager: "test",
  warn: () => {},
};

export function dependencies(own: Partial<KindDependencies> = {}): KindDependencies {
  const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default", namespace: "default" } };
  return {
    lookup: (storage, key) => (storage === "core/serviceaccounts" && key === "default/default" ? account : undefined),
    list: () => [],
    change: async (_, __, edit) => {
      const draft: DynamicObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "x" } };
      edit(draft);
      return draft;
    },
    evict: async () => {},
    readLog: async () => ({ contentType: "text/plain" }),
    issueToken: async ({ body }) => body,
    reviewToken: async (body) => body,
    authorize: () => ({ allowed: true, reason: "" }),
    rulesReview: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
    addresses: {
      clusterIp: ({ address }) => ({ value: address ?? "10.96.0.7" }),
      nodePort: ({ port, taken }) => ({ value: port ?? 30_000 + taken.length }),
    },
    ...own,
  };
}

/** The resource of a kind, or, where there are several, of that kind in a group or a group version. */
export function find(kind: string, place?: string, own?: Partial<KindDependencies>): Resource {
  const found = builtinResources(dependencies(own)).find(
    (each) => each.kind === kind && (place === undefined || each.group === place || apiVersionOf(each) === place),
  );
  if (!found) throw new Error(`there is no ${kind}`);
  return found;
}

export interface Body extends Record<string, unknown> {
  metadata?: Partial<ObjectMeta>;
}

/** A body as it would be stored, and what is wrong with it. */
export function created(resource: Resource, body: Body): { object: DynamicObject; errors: FieldError[] } {
  const { strategy, namespaced, builtin } = resource;
  const typed = {
    ...body,
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { name: "x", ...body.metadata },
  };
  const object = clone(strategy.decode(typed).object);
  if (namespaced) object.metadata.namespace ??= "default";
  Object.assign(object.metadata, { uid: "uid-1", creationTimestamp: timestamp(NOW) });
  if (strategy.tracksGeneration) object.metadata.generation = 1;
  strategy.default(object);
  strategy.admit?.(object);
  strategy.prepareForCreate(object, context);
  const metadataErrors = validateObjectMeta(object.metadata, { namespaced, nameRule: strategy.nameRule, builtin });
  return { object, errors: [...metadataErrors, ...strategy.validateCreate(object, context)] };
}

/** A stored object after an update, and what is wrong with that. */
export function updated(
  resource: Resource,
  current: DynamicObject,
  edit: (draft: DynamicObject) => void,
): { object: DynamicObject; errors: FieldError[] } {
  const { strategy, namespaced, builtin } = resource;
  const request = clone(strategy.present(current));
  edit(request);
  const object = clone(strategy.decode(request).object);
  strategy.default(object);
  if (strategy.hasStatus) object.status = clone(current.status);
  strategy.prepareForUpdate(object, current, context);
  const rules = { namespaced, nameRule: strategy.nameRule, builtin };
  const metadataErrors = validateObjectMetaUpdate(object.metadata, current.metadata, rules);
  return { object, errors: [...metadataErrors, ...strategy.validateUpdate(object, current, context)] };
}

/** A stored object after a write to a subresource, and what is wrong with that. */
export function edited(
  resource: Resource,
  subresource: string,
  current: DynamicObject,
  edit: (draft: DynamicObject) => void,
): { object: DynamicObject; errors: FieldError[] } {
  const rules = resource.subresources.find(({ name }) => name === subresource)?.edit;
  if (!rules) throw new Error(`${resource.kind} has no ${subresource} to edit`);
  const request = clone(current);
  edit(request);
  const object = clone(resource.strategy.decode(request).object);
  resource.strategy.default(object);
  rules.prepare(object, current, context);
  return { object, errors: rules.validate(object, current, context) };
}

/** Errors as `field: reason`, which is what clients branch on. */
export function shown(errors: readonly FieldError[]): string[] {
  return errors.map(({ field, reason }) => `${field}: ${reason.replace("FieldValue", "")}`);
}
