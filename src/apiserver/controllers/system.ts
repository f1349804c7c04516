/** How the server's own controllers write: through the verbs, as every client does, with the rights of the system. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { ApiError } from "../errors.ts";
import {
  create,
  type RegistryDependencies,
  remove,
  shownBy,
  storeKey,
  type Target,
  update,
} from "../registry/index.ts";
import type { RequestContext, Resource } from "../resource.ts";

export interface SystemWriter {
  /** Creates the object unless it exists. */
  ensure(storage: string, object: DynamicObject): Promise<void>;
  /** Writes what `change` makes of the newest state; nothing when the object is gone or unchanged. */
  change(
    storage: string,
    key: string,
    change: (draft: DynamicObject) => DynamicObject,
    subresource?: string,
  ): Promise<void>;
  /** Creates the object, under a generated name where it has none; throws ApiError when it is refused. */
  create(storage: string, object: NamelessObject): Promise<DynamicObject>;
  /** Deletes as the options say, the very object with that uid; already gone is fine. */
  remove(storage: string, object: DynamicObject, options?: RemoveOptions): Promise<void>;
}

/** An object that may leave its name to the server. */
export type NamelessObject = Omit<DynamicObject, "metadata"> & {
  apiVersion: string;
  kind: string;
  metadata: Omit<DynamicObject["metadata"], "name"> & { name?: string };
};

export interface RemoveOptions {
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly gracePeriodSeconds?: number;
  /** Refuse with a conflict when the object has changed since it was read. */
  readonly unchanged?: boolean;
}

const SYSTEM = { username: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

/** What these controllers are called on a real cluster; tools tell by it which fields are not a person's. */
const MANAGER = "kube-controller-manager";

/** A conflict means that somebody else wrote in between; so often it is read and tried again. */
const ATTEMPTS = 5;

export function systemWriter(
  dependencies: RegistryDependencies,
  resourceOf: (storage: string) => Resource | undefined,
): SystemWriter {
  const context = (): RequestContext & { fieldValidation: "Ignore" } => ({
    user: SYSTEM,
    now: dependencies.clock.now(),
    dryRun: false,
    fieldManager: MANAGER,
    fieldValidation: "Ignore",
    warn: () => {},
  });
  const targetOf = (
    storage: string,
    { namespace, name }: { namespace?: string; name: string },
  ): Target & { name: string } => {
    const resource = resourceOf(storage);
    if (!resource) throw new Error(`nothing is served for ${storage}`);
    return { resource, ...(namespace !== undefined && { namespace }), name };
  };

  return {
    async ensure(storage, object) {
      const { name: _, ...target } = targetOf(storage, object.metadata);
      if (dependencies.store.head(storage, storeKey(targetOf(storage, object.metadata)))) return;
      await create(dependencies, target, object, context()).catch(unless("AlreadyExists"));
    },
    async change(storage, key, change, subresource) {
      for (let attempt = 1; ; attempt++) {
        const current = dependencies.store.head(storage, key);
        if (!current) return;
        const target = targetOf(storage, current.metadata);
        const part = target.resource.subresources.find(({ name }) => name === subresource);
        const draft = change(clone(await shownBy(target.resource, current)));
        try {
          await update(dependencies, { ...target, ...(part && { subresource: part }) }, draft, context());
          return;
        } catch (error) {
          if (isReason(error, "NotFound")) return;
          if (!isReason(error, "Conflict") || attempt === ATTEMPTS) throw error;
        }
      }
    },
    async create(storage, object) {
      const { namespace, name = "" } = object.metadata;
      const { name: _, ...target } = targetOf(storage, { ...(namespace !== undefined && { namespace }), name });
      return create(dependencies, target, object as DynamicObject, context());
    },
    async remove(storage, object, { unchanged = false, ...options } = {}) {
      const { uid, resourceVersion } = object.metadata;
      const preconditions = {
        ...(uid !== undefined && { uid }),
        ...(unchanged && resourceVersion !== undefined && { resourceVersion }),
      };
      const target = targetOf(storage, object.metadata);
      await remove(dependencies, target, { ...options, dryRun: false, preconditions }, context()).catch(
        unless("NotFound"),
      );
    },
  };
}

function isReason(error: unknown, reason: string): boolean {
  return error instanceof ApiError && error.status.reason === reason;
}

function unless(reason: string): (error: unknown) => void {
  return (error) => {
    if (!isReason(error, reason)) throw error;
  };
}
