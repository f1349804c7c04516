/** What tests of the server's controllers stand on: a cluster in memory with all built-in kinds, a clock that we hold, and no HTTP. */
import { onTestFinished } from "vitest";
import { type DynamicObject, keyOf } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { clone } from "#lib/json";
import { silentLog as log } from "#lib/log";
import { LiveCatalog } from "../../catalog.ts";
import { builtinResources } from "../../kinds/index.ts";
import { dependencies as kindDependencies } from "../../kinds/testing/drafts.ts";
import type { RegistryDependencies } from "../../registry/index.ts";
import { openStore } from "../../store/index.ts";
import { eventTeller } from "../events.ts";
import type { ControllerParts } from "../manager.ts";
import { followOwnership } from "../ownership.ts";
import { runServerControllers, type ServerController } from "../runner.ts";
import { type NamelessObject, systemWriter } from "../system.ts";

/** What most controllers are made from, with a clock that stands still. */
export interface Parts extends Pick<ControllerParts, "store" | "writer" | "ownership" | "catalog" | "log" | "teller"> {
  readonly clock: ManualClock;
}

export interface Bed extends Parts {
  /** Creates an object as a client would, and answers with what was stored. */
  create(storage: string, object: NamelessObject): Promise<DynamicObject>;
  /** Changes an object, or with a subresource that part of it, as a client would. */
  change(
    storage: string,
    key: string,
    edit: (draft: DynamicObject) => DynamicObject,
    subresource?: string,
  ): Promise<void>;
  get(storage: string, key: string): DynamicObject | undefined;
  list(storage: string): DynamicObject[];
  /** Lets the controllers work until none of them has anything to do now. */
  settle(): Promise<void>;
  /** Moves time on, then settles. */
  pass(ms: number): Promise<void>;
}

/** A bed with the namespace `default` and those controllers running; it is cleared away when the test ends. */
export async function bed(controllers: (parts: Parts) => readonly ServerController[]): Promise<Bed> {
  const clock = new ManualClock();
  const store = await openStore({ durability: "memory" });
  const account = {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: "default" },
  };
  const catalog = new LiveCatalog(
    builtinResources(
      kindDependencies({
        lookup: (storage, key) =>
          store.head(storage, key) ?? (storage === "core/serviceaccounts" ? account : undefined),
      }),
    ),
  );
  const registry: RegistryDependencies = {
    store,
    clock,
    catalog,
    admission: { admit: () => {}, admitDelete: () => {}, webhooks: () => undefined },
    mayCreate: () => true,
  };
  const writer = systemWriter(registry, (storage) => catalog.byStorage(storage));
  const ownership = followOwnership(store);
  const teller = (component: string) => eventTeller({ component, store, writer, clock, log });
  await writer.ensure("core/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } });

  const parts: Parts = { store, writer, ownership, catalog, log, teller, clock };
  const running = runServerControllers({ store, clock, log, controllers: controllers(parts) });
  onTestFinished(async () => {
    await running.stop();
    ownership.close();
    await store.close();
  });

  const settle = async () => {
    // Quiet twice in a row with nothing written in between: an Event may still be on its way to the store.
    for (let calm = 0, revision = store.revision; calm < 3; ) {
      await new Promise((resolve) => setImmediate(resolve));
      calm = running.isQuiet && revision === store.revision ? calm + 1 : 0;
      revision = store.revision;
    }
  };
  return {
    ...parts,
    create: (storage, object) => writer.create(storage, object),
    change: (storage, key, edit, subresource) =>
      writer.change(storage, key, (draft) => edit(clone(draft)), subresource),
    get: (storage, key) => store.get(storage, key),
    list: (storage) => store.list(storage).items.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    settle,
    async pass(ms) {
      clock.advance(ms);
      await settle();
    },
  };
}
