/** Clusters that a program knows by itself: embedded ones, those of a test, or the one it runs in. */
import { type Connection, fingerprint } from "#kube";
import { changesFrom } from "../changes.ts";
import type { FleetChange, FleetProvider, Offer } from "../types.ts";

export interface StaticProvider extends FleetProvider {
  /** Adds a cluster, or replaces the way to it. */
  set(name: string, connection: Connection): void;
  remove(name: string): void;
}

export function staticProvider(clusters: Readonly<Record<string, Connection>> = {}): StaticProvider {
  const offers = new Map<string, Offer>();
  const listeners = new Set<(change: FleetChange) => void>();
  let changes = 0;
  const tell = (change: FleetChange) => {
    for (const listener of [...listeners]) listener(change);
  };
  const set = (name: string, connection: Connection) => {
    const { credentials, ...plain } = connection;
    // What a source of credentials holds cannot be compared: another source counts as another way in.
    const version = credentials ? ++changes : undefined;
    const offer: Offer = { name, fingerprint: fingerprint([plain, version]), connect: () => connection };
    offers.set(name, offer);
    tell({ type: "offered", offer });
  };
  for (const [name, connection] of Object.entries(clusters)) set(name, connection);

  return {
    name: "given clusters",
    set,
    remove(name) {
      if (offers.delete(name)) tell({ type: "removed", name });
    },
    follow: (signal) =>
      changesFrom(signal, (listener) => {
        for (const offer of offers.values()) listener({ type: "offered", offer });
        listener({ type: "listed" });
        listeners.add(listener);
        return () => {
          listeners.delete(listener);
        };
      }),
  };
}
