/** How much an agent asks of its hub: when it joins, at rest, and when the hub has no place for it any more. */
import { expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { RoleBinding } from "#api/rbac";
import { runRegistration } from "#app";
import { isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { eventually } from "../../support/eventually.ts";
import { type Deed, Life } from "../../support/mortal-client.ts";
import type { FaultStage } from "../registration-faults/stage.ts";

/** Kinds of the hub; of the other side an agent reads and writes others. */
const ON_HUB = new Set(["ManagedCluster", "CertificateSigningRequest", "Lease", "Event", "ConfigMap"]);

/** A life that is written down: what was asked of the hub, in the order in which it was. */
function recorded(): { readonly life: Life; readonly asked: string[] } {
  const asked: string[] = [];
  const life = new Life(({ when, verb, kind, subresource }: Deed) => {
    if (when === "before" && ON_HUB.has(kind)) asked.push([verb, kind, subresource].filter(Boolean).join(" "));
    return false;
  });
  return { life, asked };
}

function counted(asked: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const each of asked) counts[each] = (counts[each] ?? 0) + 1;
  return counts;
}

export function requestCases(stageOf: () => FaultStage): void {
  it("to join, everything is asked once, and whatever comes too early a few times; at rest there are only beats", async () => {
    const stage = stageOf();
    const name = "frugal";
    const { life, asked } = recorded();
    const agent = await stage.start(name, { clusterName: name, life });
    await stage.admit(name);
    await stage.untilWorking(name);
    const once = {
      "create ManagedCluster": 1,
      "create CertificateSigningRequest": 1,
      "watch ManagedCluster": 2, // as whoever asks to join, and as itself
      "watch CertificateSigningRequest": 2,
    };
    const { "get ManagedCluster": looks = 0, "get Lease": leases = 0, ...others } = counted(asked);
    expect(others).toMatchObject(once);
    expect(looks, "looks at its own entry").toBeLessThan(10);
    expect(leases, "looks for the Lease").toBeLessThan(10);
    expect(others, "nobody told it of a ConfigMap").not.toHaveProperty(["get ConfigMap"]);

    await stage.hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: 1 } });
    await stage.untilNextBeat(name);
    asked.length = 0;
    for (let beats = 0; beats < 4; beats++) await stage.untilNextBeat(name);
    expect([...new Set(asked)]).toEqual(["update Lease"]);
    await agent.stop();
  });

  it("of a cluster that was deleted on the hub is asked only whether it is let in again, and that is said once", async () => {
    const stage = stageOf();
    const name = "deleted-there";
    const lines: string[] = [];
    const canary = stage.canary.log("the agent of deleted-there");
    const write = (line: string) => {
      lines.push(line);
      canary.debug(line);
    };
    const stopping = new AbortController();
    const ended = runRegistration({
      clusterName: name,
      spoke: stage.spoke.client,
      namespace: stage.namespaceOf(name),
      endpoints: [],
      bootstrap: await stage.bootstrap(),
      clock: systemClock,
      log: createLogger({ level: "info", format: "human", clock: systemClock, write }),
      signal: stopping.signal,
    });
    await stage.admit(name);
    await stage.hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: 1 } });
    await stage.untilWorking(name);
    const agent = await stage.stored(name, "agent-name");

    lines.length = 0;
    await stage.hub.client.delete(ManagedCluster, name);
    await eventually(() => expect(lines.join("\n")).toContain("the hub does not let this cluster in"));
    const grave = lines.filter((line) => /\s(WARN|ERROR)\s/.test(line));
    // One for each of the watches that it had open, at most, and the one that tells what it means.
    expect(new Set(grave.map((line) => line.replace(/^\S+/, ""))).size, "each is said once").toBe(grave.length);
    expect(grave.length).toBeLessThanOrEqual(6);
    await expect(stage.hub.client.get(ManagedCluster, name)).rejects.toSatisfy(isNotFound);

    // Whoever lets it in again finds the same agent, with the certificate that it has.
    const before = await stage.requests(name);
    await stage.hub.client.create(ManagedCluster, { metadata: { name }, spec: { hubAcceptsClient: true } });
    await eventually(() =>
      stage.hub.client.get(RoleBinding, `${name}/open-cluster-management:managedcluster:${name}:registration`),
    );
    await stage.untilWorking(name);
    expect(await stage.requests(name)).toHaveLength(before.length);
    expect(await stage.stored(name, "agent-name")).toBe(agent);
    stopping.abort();
    await ended;
  });
}
