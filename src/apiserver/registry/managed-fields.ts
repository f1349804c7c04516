/** Who owns the fields of what is written: asked by every verb that writes, answered by `apply`. */
import { apiVersionOf, type DynamicObject, type ManagedFieldsEntry } from "#api/meta";
import {
  type Applied,
  applyConfiguration,
  builtinType,
  managersOfScale,
  managersOfScaled,
  resetFields,
  SCALE_VERSION,
  trackUpdate,
  type VersionedType,
  type Versions,
  type Write,
} from "../apply/index.ts";
import type { RequestContext, Resource, Subresource } from "../resource.ts";
import type { RegistryDependencies, Target } from "./target.ts";

/** The managers of an object that is about to be stored; it has its defaults, and not yet what the server adds. */
export type ManagersOf = (draft: DynamicObject) => ManagedFieldsEntry[] | undefined;

type View = NonNullable<Subresource["view"]>;

/** Tracks a create, update or patch. `requested` are the managedFields that the request carries. */
export function managersOfUpdate(
  dependencies: RegistryDependencies,
  target: Target,
  context: RequestContext,
  { current, requested }: { current: DynamicObject | undefined; requested: unknown },
): ManagersOf {
  const { resource, subresource } = target;
  if (!resource.fields) return () => undefined;
  if (subresource?.view && current) return managersOfViewUpdate(target, subresource.view, current, context);
  const write = writeOf(dependencies, target, context);
  return (draft) => trackUpdate(write, { before: current, after: draft, requested });
}

function managersOfViewUpdate(
  { resource }: Target,
  view: View,
  current: DynamicObject,
  context: RequestContext,
): ManagersOf {
  const scaled = scaledObject(resource, view, current);
  const shown = (object: DynamicObject) => view.read(resource.strategy.present(object));
  return (draft) => {
    const before = withManagers(shown(current), managersOfScale(scaled));
    return managersOfScaled(scaled, trackUpdate(writeOfView(context), { before, after: shown(draft) }));
  };
}

/** What an apply makes of an object, or of a view of it. Throws ApiError. */
export function appliedTo(
  dependencies: RegistryDependencies,
  target: Target,
  context: RequestContext & { readonly force: boolean },
  { current, config }: { current: DynamicObject | undefined; config: DynamicObject },
): Applied {
  const { resource, subresource } = target;
  const { force } = context;
  if (!subresource?.view || !current) {
    return applyConfiguration({ ...writeOf(dependencies, target, context), force }, current, config);
  }
  const scaled = scaledObject(resource, subresource.view, current);
  const live = withManagers(subresource.view.read(resource.strategy.present(current)), managersOfScale(scaled));
  const { object, managedFields } = applyConfiguration({ ...writeOfView(context), force }, live, config);
  return { object, managedFields: managersOfScaled(scaled, managedFields) };
}

function writeOf(
  dependencies: RegistryDependencies,
  { resource, subresource }: Target,
  context: RequestContext,
): Write {
  const { storage, builtin, strategy } = resource;
  const part = subresource?.name ?? "";
  return {
    manager: context.fieldManager,
    apiVersion: apiVersionOf(resource),
    subresource: part,
    now: context.now,
    versions: versionsOf(dependencies, resource),
    ignored: resetFields({ storage, builtin, hasStatus: strategy.hasStatus, subresource: part }),
  };
}

/** Versions that the resource does not know itself are those of its siblings, which share its objects. */
function versionsOf({ catalog }: RegistryDependencies, { fields, storage }: Resource): Versions {
  return (apiVersion) => {
    const own = fields?.(apiVersion);
    if (own) return own;
    return catalog.resources
      .find((other) => other.storage === storage && apiVersionOf(other) === apiVersion)
      ?.fields?.(apiVersion);
  };
}

const SCALE_TYPE: VersionedType = {
  type: builtinType(`${SCALE_VERSION}#Scale`),
  present: (object) => object,
  toShared: (object) => object,
  empty: () =>
    ({
      apiVersion: SCALE_VERSION,
      kind: "Scale",
      metadata: {},
      spec: {},
      status: { replicas: 0 },
    }) as unknown as DynamicObject,
};

function writeOfView({ fieldManager, now }: RequestContext): Write {
  return {
    manager: fieldManager,
    apiVersion: SCALE_VERSION,
    subresource: "scale",
    now,
    versions: (apiVersion) => (apiVersion === SCALE_VERSION ? SCALE_TYPE : undefined),
    ignored: resetFields({ storage: "", builtin: true, hasStatus: false, subresource: "scale" }),
  };
}

function scaledObject(resource: Resource, { replicasPath }: View, { metadata }: DynamicObject) {
  return { managedFields: metadata.managedFields, apiVersion: apiVersionOf(resource), replicasPath };
}

function withManagers(object: DynamicObject, managedFields: ManagedFieldsEntry[] | undefined): DynamicObject {
  return { ...object, metadata: { ...object.metadata, ...(managedFields && { managedFields }) } };
}

export function setManagers({ metadata }: DynamicObject, managedFields: ManagedFieldsEntry[] | undefined): void {
  if (managedFields) metadata.managedFields = managedFields;
  else delete metadata.managedFields;
}

/** The managedFields of a request, before decoding takes an empty list for none. */
export function requestedManagers(body: unknown): unknown {
  return (body as Partial<DynamicObject> | undefined)?.metadata?.managedFields;
}
