/** `capstan hub` as people run it: against any API server, several for one Lease, until Ctrl-C or SIGTERM. */
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { ConfigMap } from "#api/core";
import { KnativeServing } from "#api/knative";
import { demonstrationSource } from "#features/knative/demonstration";
import { findCondition } from "#lib/conditions";
import { deploymentsIn, KnativeStage, REF, untilGone, untilReady } from "../suites/knative/stage.ts";
import { build, type Running, run, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";
import { startEmbedded } from "../support/servers.ts";

let stage: KnativeStage;
let releases: string;
const running: Running[] = [];

beforeAll(async () => {
  build();
  stage = await KnativeStage.open(startEmbedded);
  releases = join(stage.inventory.dir, "releases");
  const source = demonstrationSource();
  const folders = ["1.22", "1.23"].flatMap((minor) => [`knative-serving/${minor}.0`, `ingress/${minor}/kourier`]);
  for (const folder of folders) {
    for (const { name, text } of await source.texts(folder)) {
      const path = join(releases, name.slice(source.root.length + 1));
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
  }
}, 120_000);
afterAll(async () => {
  for (const { child, ended } of running) {
    child.kill("SIGKILL");
    await ended;
  }
  await stage?.close();
}, 120_000);

/** Only Knative: the stage has no kinds for registration. */
function hub(...flags: string[]): Running {
  const command = start(
    "hub",
    ...["--kubeconfig", stage.inventory.hubKubeconfig],
    ...["--clusterprofile-provider-file", stage.providerFile],
    ...["--controllers", "knative-serving,knative-eventing,knative-leftovers"],
    ...["--knative-manifests", releases],
    ...flags,
  );
  running.push(command);
  return command;
}

const answers = (command: Running): Promise<string> =>
  eventually(
    () => /health and metrics at (\S+)/.exec(command.said())?.[1] ?? Promise.reject(new Error(command.said())),
  );

const leads = async (address: string): Promise<string | undefined> =>
  /^leader_election_master_status\{name="capstan-hub"\} (.)$/m.exec(
    await (await fetch(`${address}/metrics`)).text(),
  )?.[1];

describe("capstan hub", () => {
  it("installs on spokes, gives way to the next when it is stopped, and that one removes again", async () => {
    const elected = ["--leader-elect", "--metrics-address", "0"];
    const first = hub(...elected, "--remote-deployments-poll-interval", "500ms");
    const firstAt = await answers(first);
    await eventually(async () => expect(await leads(firstAt)).toBe("1"));
    // Below a second means the default; what counts is told.
    expect(first.said()).toContain("interval=10s");
    const second = hub(...elected, "--remote-deployments-poll-interval", "2s");
    const secondAt = await answers(second);
    expect(second.said()).toContain("interval=2s");

    const spec = { clusterProfileRef: REF, ingress: { kourier: { enabled: true } } };
    await stage.hub.create(KnativeServing, { metadata: { name: "ks", namespace: "knative-serving" }, spec });
    await untilReady(() => stage.serving("ks"));
    expect(await deploymentsIn(stage.spoke, "knative-serving")).toContain("activator");
    const health = await fetch(`${firstAt}/healthz`);
    expect([await leads(firstAt), await leads(secondAt), health.status]).toEqual(["1", "0", 200]);

    first.child.kill("SIGTERM");
    expect((await first.ended).code).toBe(0);
    await eventually(async () => expect(await leads(secondAt)).toBe("1"));
    await stage.hub.delete(KnativeServing, "knative-serving/ks");
    await untilGone(() => stage.serving("ks"));
    await eventually(async () => expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([]));

    second.child.kill("SIGINT");
    expect((await second.ended).code).toBe(0);
    expect((await stage.hub.get(Lease, "kube-system/capstan-hub")).spec?.holderIdentity ?? "").toBe("");
  });

  it("lets an installation on a lost cluster go after its patience, and clears up when the cluster is back", async () => {
    const command = hub("--knative-removal-patience", "1s");
    const spec = { clusterProfileRef: REF, ingress: { kourier: { enabled: true } } };
    await stage.hub.create(KnativeServing, { metadata: { name: "lost", namespace: "knative-serving" }, spec });
    await untilReady(() => stage.serving("lost"));
    await stage.offer("https://127.0.0.1:1");
    await eventually(async () => {
      const { status } = await stage.serving("lost");
      expect(findCondition(status?.conditions, "TargetClusterResolved")?.status).toBe("False");
    });
    await stage.hub.delete(KnativeServing, "knative-serving/lost");
    await untilGone(() => stage.serving("lost"));
    const notes = async () =>
      (await stage.hub.list(ConfigMap, { labelSelector: "operator.capstan.dev/leftover" })).items.length;
    expect(await notes()).toBe(1);
    await stage.offer();
    await eventually(async () => expect(await notes()).toBe(0));
    expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([]);
    command.child.kill("SIGTERM");
    expect((await command.ended).code).toBe(0);
  });

  it("ends an upgrade although it is killed five times on the way, and leaves nothing of the former version", async () => {
    const spec = { version: "1.22.0", clusterProfileRef: REF, ingress: { kourier: { enabled: true } } };
    await stage.hub.create(KnativeServing, { metadata: { name: "killed", namespace: "knative-serving" }, spec });
    let command = hub();
    await untilReady(() => stage.serving("killed"));
    const names = async () =>
      (await stage.spoke.list(ConfigMap, { namespace: "knative-serving" })).items.map(({ metadata }) => metadata.name);
    expect(await names()).toContain("config-tracing");
    const held = [{ name: "controller", annotations: { "simulate.capstan.dev/ready-after": "1h" } }];
    await stage.hub.patch(KnativeServing, "knative-serving/killed", { spec: { version: "1.23.0", workloads: held } });
    for (let round = 1; round <= 5; round++) {
      await eventually(async () => {
        const { status } = await stage.serving("killed");
        const waiting = findCondition(status?.conditions, "DeploymentsAvailable");
        // The first is killed as soon as it has begun, the others once they have seen how far it is.
        expect([status?.observedGeneration, waiting?.status]).toEqual([2, round === 1 ? expect.anything() : "False"]);
      });
      command.child.kill("SIGKILL");
      await command.ended;
      command = hub();
    }
    expect(await names()).toContain("config-tracing");
    await stage.hub.patch(KnativeServing, "knative-serving/killed", { spec: { workloads: null } });
    await eventually(async () => expect((await stage.serving("killed")).status?.version).toBe("1.23.0"));
    await untilReady(() => stage.serving("killed"));
    expect(await names()).not.toContain("config-tracing");
    await stage.hub.delete(KnativeServing, "knative-serving/killed");
    await untilGone(() => stage.serving("killed"));
    command.child.kill("SIGTERM");
    expect((await command.ended).code).toBe(0);
  });

  it("says which kinds the server lacks, and ends at Ctrl-C although it waits for them", async () => {
    const command = hub("--controllers", "*");
    await eventually(() => expect(command.said()).toContain("does not serve ManagedCluster; controllers that need"));
    command.child.kill("SIGINT");
    expect((await command.ended).code).toBe(0);
  });

  it.each<[flags: string[], code: number, problem: string]>([
    [["--controllers", "knativ-serving"], 2, 'unknown controller "knativ-serving"; there are cluster-acceptance, '],
    [["--controllers", "*,-knative"], 2, "knative-serving, manifestwork-finished; see --help"],
    [
      ["--feature-gates", "ClusterProfiles=true"],
      2,
      "there are CleanUpCompletedManifestWork, ClusterProfile, DefaultClusterSet, Managed",
    ],
    [["--feature-gates", "ClusterProfile=1"], 2, "feature gate ClusterProfile is true or false"],
    [["--cluster-auto-approval-users", "bob"], 2, "needs --feature-gates ManagedClusterAutoApproval=true"],
    [["--metrics-address", "nowhere"], 2, "It must be HOST:PORT, :PORT or PORT"],
    [["--remote-deployments-poll-interval", "soon"], 2, "It must be a duration"],
    [["--knative-removal-patience", "5"], 2, "It must be a duration"],
    [["--detach-patience", "never"], 2, "It must be a duration"],
    [["--gc-resource-list", "works"], 2, '"works" names no kind; write group/version/resource'],
    [["--knative-manifest", "x"], 2, "(did you mean --knative-manifests?)"],
    [["--knative-manifests", "/nonexistent/releases"], 1, "cannot read the releases in /nonexistent/releases"],
    [["--kubeconfig", "/nonexistent/kubeconfig"], 1, "/nonexistent/kubeconfig does not exist"],
  ])("%j ends with %d and says in one line what is wrong", async (flags, code, problem) => {
    const ended = await hub(...flags).ended;
    expect(ended.stderr).toContain(problem);
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
  });

  it("names an address that is taken, and what to do", async () => {
    const server: Server = createServer();
    const port = await new Promise<number>((resolve) =>
      server.listen(0, "127.0.0.1", () => resolve((server.address() as { port: number }).port)),
    );
    const { code, stderr } = await hub("--metrics-address", `127.0.0.1:${port}`).ended;
    server.close();
    expect(code).toBe(1);
    expect(stderr).toContain(`cannot show metrics at 127.0.0.1 port ${port}: it is taken; choose another`);
  });

  it("has the same flags in a fleet, which does not start with nonsense", async () => {
    const dir = join(stage.inventory.dir, "fleet");
    const ended = await run("up", "--dir", dir, ...portOf(dir), "--spokes", "0", "--controllers", "nobody");
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toContain('capstan: unknown controller "nobody"; there are cluster-acceptance, ');
  });

  it("wants a kubeconfig where it is in no Pod", async () => {
    expect(await run("hub")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("this is no Pod; give --kubeconfig"),
    });
  });
});
