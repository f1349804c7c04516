/** Candidates of two kinds for one Lease: ours, and the elector that Go programs use, in kube-controller-manager. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { kubeconfigText } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createElection, type Election } from "#runtime";
import { electionSuite } from "../suites/election/index.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const programs = process.env.KUBEBUILDER_ASSETS ?? fileURLToPath(new URL("../../.kube/bin", import.meta.url));
const LEASE = { namespace: "kube-system", name: "shared" };
const DURATION = 5_000;
const TIMING = { duration: DURATION, renewDeadline: 3_000, retry: 1_000 };

const missing = missingControlPlane();

describe.skipIf(missing)(`a Lease on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () =>
  electionSuite(startControlPlane),
);

describe.skipIf(missing)("a Lease shared with a Go program", () => {
  let server: TestServer;
  let dir: string;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    server = await startEmbedded("election");
    dir = await mkdtemp(join(tmpdir(), "capstan-election-"));
    await writeFile(join(dir, "kubeconfig"), kubeconfigText(server.kubeconfig));
  });
  afterAll(async () => {
    for (const child of children) await kill(child);
    await server.close();
    await rm(dir, { recursive: true, force: true });
  });

  function startGo(): { child: ChildProcess; said: () => string } {
    const child = spawn(join(programs, "kube-controller-manager"), [
      `--kubeconfig=${join(dir, "kubeconfig")}`,
      "--leader-elect=true",
      `--leader-elect-lease-duration=${TIMING.duration}ms`,
      `--leader-elect-renew-deadline=${TIMING.renewDeadline}ms`,
      `--leader-elect-retry-period=${TIMING.retry}ms`,
      `--leader-elect-resource-namespace=${LEASE.namespace}`,
      `--leader-elect-resource-name=${LEASE.name}`,
      "--controllers=ttl-controller",
      "--secure-port=0",
    ]);
    children.push(child);
    let text = "";
    child.stderr?.on("data", (part: Buffer) => {
      text += part.toString();
    });
    return { child, said: () => text };
  }

  function startOurs(identity: string, release: boolean): { election: Election; stop: () => Promise<void> } {
    const { client } = server;
    const options = { client, clock: systemClock, log: silentLog, lease: LEASE, identity, release, timing: TIMING };
    const election = createElection(options);
    const stop = new AbortController();
    const run = election.run(stop.signal, () => once(stop.signal, "abort").then(() => {}));
    return {
      election,
      async stop() {
        stop.abort();
        await run;
      },
    };
  }

  const specOf = async () => (await server.client.get(Lease, `${LEASE.namespace}/${LEASE.name}`)).spec;

  it("passes from one to the other, given up or left behind, and never belongs to both", async () => {
    const first = startOurs("first", true);
    await eventually(() => expect(first.election.isLeader).toBe(true));
    const go = startGo();
    await eventually(() => expect(go.said()).toContain("acquire leader lease"));
    expect(first.election.isLeader).toBe(true);

    await first.stop();
    const taken = await eventually(async () => {
      const spec = await specOf();
      expect(spec).toMatchObject({ leaseDurationSeconds: DURATION / 1000, leaseTransitions: 1 });
      return spec;
    });
    expect(taken?.holderIdentity).not.toBe("first");

    const second = startOurs("second", false);
    await eventually(() => expect(second.election.leader).toBe(taken?.holderIdentity));
    expect(second.election.isLeader).toBe(false);
    const killedAt = performance.now();
    await kill(go.child);
    await eventually(() => expect(second.election.isLeader).toBe(true));
    const waited = performance.now() - killedAt;
    // It renewed at most a retry before it died, and nobody may be early.
    expect(waited).toBeGreaterThan(DURATION - TIMING.retry - 500);
    expect(waited).toBeLessThan(DURATION + 1_000);
    expect(await specOf()).toMatchObject({ holderIdentity: "second", leaseTransitions: 2 });

    const heir = startGo();
    await eventually(() => expect(heir.said()).toContain("acquire leader lease"));
    await second.stop(); // without giving it up, as one who dies
    await eventually(async () => expect(await specOf()).toMatchObject({ leaseTransitions: 3 }));
    expect((await specOf())?.holderIdentity).not.toBe("second");
  }, 90_000);
});

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}
