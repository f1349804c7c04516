/** A whole controller as they are meant to be written, from its triggers to its tests. */
import { describe, expect, it } from "vitest";
import { type Condition, type KubeObject, kind } from "#api/meta";
import { type Clock, ManualClock } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import { withLabels } from "#lib/meta";
import { fakeCluster, runUntilQuiet } from "../../test/support/index.ts";
import { type Cluster, type Controller, done, forEach } from "./index.ts";

interface Ship extends KubeObject {
  status?: { version?: { kubernetes?: string }; conditions?: Condition[] };
}
const Ship = kind<Ship>({ group: "example.com", version: "v1", kind: "Ship", plural: "ships", namespaced: false });

interface Profile extends KubeObject {
  spec: { manager: { name: string } };
  status?: {
    version?: { kubernetes?: string };
    conditions?: Condition[];
    accessProviders?: { name: string }[];
  };
}
const Profile = kind<Profile>({
  group: "example.com",
  version: "v1alpha1",
  kind: "Profile",
  plural: "profiles",
  namespaced: true,
});

const MANAGER = "admiralty";
const SHIP_LABEL = "example.com/ship";
const REPEATED = [
  ["Healthy", "Available"],
  ["Joined", "Joined"],
] as const;

function profileController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const ships = hub.cache(Ship);
  const profiles = hub.cache(Profile);
  const profilesOf = profiles.indexBy(shipNameOf);

  return {
    name: "profile-status",
    triggers: [ships.keyedBy((ship) => ship.metadata.name), profiles.keyedBy(shipNameOf)],

    async reconcile(shipName) {
      const ship = ships.get(shipName);
      if (!ship) return done;

      const ours = profilesOf.at(shipName).filter((profile) => profile.spec.manager.name === MANAGER);
      await forEach(ours, (profile) => hub.commit(Profile, profile, reflect(ship, profile, clock.now())));
      return done;
    },
  };
}

function reflect(ship: Ship, profile: Profile, now: Date): Profile {
  const { version, conditions: reported } = ship.status ?? {};

  let conditions = profile.status?.conditions ?? [];
  for (const [type, source] of REPEATED) {
    const seen = findCondition(reported, source);
    if (!seen) continue;
    const { status, reason, message } = seen;
    conditions = setCondition(conditions, { type, status, reason, message }, now);
  }
  const status = { ...profile.status, version: { ...version }, conditions };
  return withLabels({ ...profile, status }, { [SHIP_LABEL]: ship.metadata.name });
}

function shipNameOf({ metadata }: Profile): string {
  return metadata.labels?.[SHIP_LABEL] ?? metadata.name;
}

const clock = new ManualClock("2026-05-05T00:00:00Z");

function ship(): Ship {
  const condition = {
    status: "True",
    reason: "Fine",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  } as const;
  return {
    apiVersion: "example.com/v1",
    kind: "Ship",
    metadata: { name: "s1" },
    status: { version: { kubernetes: "v1.36.0" }, conditions: [{ type: "Joined", ...condition }] },
  };
}

function profile(change: Partial<Profile> = {}): Profile {
  return {
    apiVersion: "example.com/v1alpha1",
    kind: "Profile",
    metadata: { name: "s1", namespace: "fleet" },
    spec: { manager: { name: MANAGER } },
    ...change,
  };
}

describe("a controller", () => {
  it("repeats what the ship reports", async () => {
    const hub = fakeCluster([Ship, ship()], [Profile, profile()]);

    await runUntilQuiet(profileController({ hub, clock }));

    expect(hub.read(Profile, "fleet/s1")).toMatchObject({
      metadata: { labels: { [SHIP_LABEL]: "s1" } },
      status: {
        version: { kubernetes: "v1.36.0" },
        conditions: [{ type: "Joined", status: "True", lastTransitionTime: "2026-05-05T00:00:00Z" }],
      },
    });
  });

  it("writes nothing the second time", async () => {
    const hub = fakeCluster([Ship, ship()], [Profile, profile()]);
    const controller = profileController({ hub, clock });
    await runUntilQuiet(controller);
    expect(hub.writes).toHaveLength(2);

    hub.writes.length = 0;
    await runUntilQuiet(controller);
    expect(hub.writes).toEqual([]);
  });

  it("leaves the access providers alone, because somebody else owns them", async () => {
    const owned = profile({ status: { accessProviders: [{ name: "proxy" }] } });
    const hub = fakeCluster([Ship, ship()], [Profile, owned]);

    await runUntilQuiet(profileController({ hub, clock }));

    expect(hub.read(Profile, "fleet/s1")?.status?.accessProviders).toEqual([{ name: "proxy" }]);
  });

  it("does not touch what another manager looks after", async () => {
    const hub = fakeCluster([Ship, ship()], [Profile, profile({ spec: { manager: { name: "other" } } })]);
    await runUntilQuiet(profileController({ hub, clock }));
    expect(hub.writes).toEqual([]);
  });
});
