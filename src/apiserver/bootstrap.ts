/** Puts into a cluster what it holds before anybody asks it for anything. */
import { randomUUID } from "node:crypto";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { type BootstrapFacts, type BootstrapObject, bootstrapObjects, policyObjects } from "./bootstrap-objects.ts";
import type { SystemWriter } from "./controllers/index.ts";
import type { Store } from "./store/index.ts";

export interface BootstrapOptions {
  readonly store: Store;
  readonly writer: SystemWriter;
  readonly facts: BootstrapFacts;
}

/** Namespaces first, because the rest lies in them; the rest together, in one commit of the log. */
export async function putInPlace({ store, writer, facts }: BootstrapOptions): Promise<void> {
  const objects = bootstrapObjects(facts);
  const isNamespace = ({ storage }: BootstrapObject) => storage === "core/namespaces";
  const ensure = ({ storage, object }: BootstrapObject) => writer.ensure(storage, object);
  await Promise.all(objects.filter(isNamespace).map(ensure));
  await Promise.all([
    ...objects.filter((object) => !isNamespace(object)).map(ensure),
    ...policyObjects().map((object) => ensurePolicy(object, { store, writer, facts })),
  ]);
}

/** As the verbs made them for the first cluster of the process. */
const prepared = new Map<string, DynamicObject>();

/**
 * The policy is the same in every cluster: what defaults, checks and owners of fields make of it is worked out once,
 * and what is the same in all copies is shared.
 */
async function ensurePolicy({ storage, object }: BootstrapObject, options: BootstrapOptions): Promise<void> {
  const { store, writer, facts } = options;
  const { name, namespace } = object.metadata;
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  if (store.head(storage, key)) return;
  const id = `${storage} ${key}`;
  const known = prepared.get(id);
  if (!known) {
    await writer.ensure(storage, object);
    const made = store.get(storage, key);
    if (made) prepared.set(id, made);
    return;
  }
  await store.write(storage, key, (current) => current ?? copyFor(known, facts.now));
}

/** The same object in another cluster: it has an identity and times of its own. */
function copyFor({ metadata, ...rest }: DynamicObject, now: Date): DynamicObject {
  const time = timestamp(now);
  const { managedFields } = metadata;
  return {
    ...rest,
    metadata: {
      ...metadata,
      uid: randomUUID(),
      creationTimestamp: time,
      ...(managedFields && { managedFields: managedFields.map((entry) => ({ ...entry, time })) }),
    },
  } as DynamicObject;
}
