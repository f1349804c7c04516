/** Pods on nodes that run them: what people see of a Pod from its creation to its end, and of its logs. */
import { beforeAll, expect, it } from "vitest";
import type { Node, Pod } from "#api/core";
import { eventually } from "../support/eventually.ts";
import type { Reply } from "../support/raw.ts";
import { at, ON_NODES, refusal, refused, type Staged } from "./stage.ts";

export function nodesSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
    const account = at(space, "serviceaccounts", "default");
    await eventually(async () => expect((await stage().admin.get(account)).code).toBe(200));
  });

  const pods = (name?: string) => at(space, "pods", name);
  const read = async (name: string): Promise<Pod> => (await stage().admin.get(pods(name))).body as unknown as Pod;

  async function run(name: string, { spec = {}, annotations = {} }: { spec?: object; annotations?: object } = {}) {
    const containers = [{ name: "main", image: "registry.example/app:1" }];
    const reply = await stage().admin.post(pods(), {
      metadata: { name, annotations },
      spec: { containers, ...ON_NODES, ...spec },
    });
    expect(reply.code).toBe(201);
    return reply.body;
  }
  const untilPhase = (name: string, phase: string) =>
    eventually(async () => {
      const pod = await read(name);
      expect(pod.status?.phase).toBe(phase);
      return pod;
    });
  const untilReady = (name: string) =>
    eventually(async () => {
      const pod = await read(name);
      const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
      expect(ready?.status).toBe("True");
      return pod;
    });
  const eventsOf = async (name: string): Promise<string[]> => {
    const { body } = await stage().admin.get(`${at(space, "events")}?fieldSelector=involvedObject.name%3D${name}`);
    return body.items.map(({ reason = "" }) => reason);
  };
  const logOf = (name: string, query = ""): Promise<Reply> => stage().admin.get(`${pods(name)}/log${query}`);

  it("nodes.registered: are ready, and say where they answer and by which lease they live", async () => {
    const { body } = await stage().admin.get("/api/v1/nodes");
    const nodes = (body.items as unknown as Node[]).filter(({ spec }) =>
      spec?.taints?.some(({ key }) => key === ON_NODES.tolerations[0].key),
    );
    expect(nodes.length).toBeGreaterThan(1);
    for (const { metadata, spec, status } of nodes) {
      expect(status?.conditions?.find(({ type }) => type === "Ready")).toMatchObject({ status: "True" });
      expect(status?.daemonEndpoints?.kubeletEndpoint?.Port).toBeGreaterThan(0);
      expect(spec?.podCIDR).toBeDefined();
      const lease = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${metadata.name}`;
      expect((await stage().admin.get(lease)).body).toMatchObject({
        metadata: { ownerReferences: [{ kind: "Node", uid: metadata.uid }] },
        spec: { holderIdentity: metadata.name, leaseDurationSeconds: 40 },
      });
    }
  });

  it("nodes.pod-ready: a Pod is put on a node, runs there, is ready, and all of it is told", async () => {
    await run("ready");
    const { spec, status } = await untilReady("ready");
    expect(spec.nodeName).not.toBe("");
    expect(status).toMatchObject({
      phase: "Running",
      observedGeneration: 1,
      containerStatuses: [{ name: "main", ready: true, started: true, restartCount: 0, state: { running: {} } }],
    });
    expect(status?.podIP).toBe(status?.podIPs?.[0]?.ip);
    await eventually(async () =>
      expect(await eventsOf("ready")).toEqual(expect.arrayContaining(["Scheduled", "Pulled", "Created", "Started"])),
    );
  });

  it("nodes.untolerated: a Pod that tolerates no taint of a node waits, and says so", async () => {
    await run("unwanted", { spec: { tolerations: [] } });
    await eventually(async () => {
      const { status } = await read("unwanted");
      expect(status?.conditions).toContainEqual(
        expect.objectContaining({ type: "PodScheduled", status: "False", reason: "Unschedulable" }),
      );
    });
    await eventually(async () => expect(await eventsOf("unwanted")).toContain("FailedScheduling"));
  });

  it("nodes.gated: a Pod with a gate is put nowhere before the gate is gone", async () => {
    await run("gated", { spec: { schedulingGates: [{ name: "suite.example/wait" }] } });
    await run("after-gated");
    await untilReady("after-gated");
    const { spec, status } = await read("gated");
    expect(spec.nodeName ?? "").toBe("");
    expect(status?.conditions).toMatchObject([{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }]);
    await stage().admin.patch(pods("gated"), { spec: { schedulingGates: null } });
    await untilReady("gated");
  });

  it("nodes.job-pods: a Pod that is not started again ends as its command does", async () => {
    const once = (command: string[]) => ({
      spec: { restartPolicy: "Never", containers: [{ name: "main", image: "busybox", command }] },
    });
    await run("succeeds", once(["sh", "-c", "echo done"]));
    await run("fails", once(["sh", "-c", "exit 3"]));
    await untilPhase("succeeds", "Succeeded");
    const { status } = await untilPhase("fails", "Failed");
    expect(status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({ exitCode: 3, reason: "Error" });
  });

  it("nodes.missing-image: an image that nobody has keeps a Pod pending", async () => {
    await run("imageless", { spec: { containers: [{ name: "main", image: "registry.example/app:404" }] } });
    await eventually(async () => {
      const { status } = await read("imageless");
      expect(status?.phase).toBe("Pending");
      expect(status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe("ImagePullBackOff");
    });
    const log = await logOf("imageless");
    expect(refusal(log)).toEqual(refused(400, "BadRequest"));
    expect(log.body.message).toBe(
      'container "main" in pod "imageless" is waiting to start: trying and failing to pull image',
    );
  });

  it("nodes.deletion: a deleted Pod ends before it goes", async () => {
    await run("leaving");
    await untilReady("leaving");
    const { body } = await stage().admin.delete(pods("leaving"));
    expect(body.metadata.deletionGracePeriodSeconds).toBe(30);
    expect((await stage().admin.get(pods("leaving"))).code).toBe(200);
    await eventually(async () => expect((await stage().admin.get(pods("leaving"))).code).toBe(404));
    await eventually(async () => expect(await eventsOf("leaving")).toContain("Killing"));
  });

  it("nodes.restart: a container with another image is started again", async () => {
    await run("updated");
    await untilReady("updated");
    const image = "registry.example/app:2";
    await stage().admin.patch(pods("updated"), { spec: { containers: [{ name: "main", image }] } }, "strategic");
    await eventually(async () => {
      const { status, metadata } = await read("updated");
      expect(status?.containerStatuses?.[0]).toMatchObject({ image, restartCount: 1, ready: true });
      expect(status?.observedGeneration).toBe(metadata.generation);
    });
  });

  it("nodes.ephemeral-containers: a container can be added to a Pod that runs, to look at it", async () => {
    await run("looked-at");
    await untilReady("looked-at");
    const ephemeralContainers = [{ name: "look", image: "busybox" }];
    const path = `${pods("looked-at")}/ephemeralcontainers`;
    const reply = await stage().admin.patch(path, { spec: { ephemeralContainers } }, "strategic");
    expect([reply.code, reply.body.metadata.generation]).toEqual([200, 2]);
    await eventually(async () => {
      const { status } = await read("looked-at");
      expect(status?.ephemeralContainerStatuses).toMatchObject([{ name: "look", state: { running: {} } }]);
    });
    const changed = [{ name: "look", image: "alpine" }];
    expect(refusal(await stage().admin.patch(path, { spec: { ephemeralContainers: changed } }))).toEqual(
      refused(422, "Invalid", "spec.ephemeralContainers FieldValueForbidden"),
    );
  });

  it("nodes.log: the log of a container is handed on from its node", async () => {
    await run("logged");
    await untilReady("logged");
    const whole = await logOf("logged");
    expect(whole.code).toBe(200);
    expect(whole.text.split("\n")).toHaveLength(2);
    expect((await logOf("logged", "?tailLines=0")).text).toBe("");
    expect((await logOf("logged", "?limitBytes=5")).text).toBe(whole.text.slice(0, 5));
    expect((await logOf("logged", "?timestamps=true&container=main")).text).toMatch(/^\d{4}-\d\d-\d\dT\S+Z /);
    expect((await logOf("logged", "?sinceTime=2200-01-01T00:00:00Z")).text).toBe("");
  });

  it("nodes.log-refusals: what cannot be had is refused in words that people understand", async () => {
    const two = ["a", "b"].map((name) => ({ name, image: "registry.example/app:1" }));
    await run("chatty", { spec: { containers: two } });
    await untilReady("chatty");
    const refusals: [query: string, message: string][] = [
      ["", "a container name must be specified for pod chatty, choose one of: [a b]"],
      ["?container=c", "container c is not valid for pod chatty"],
      ["?container=a&previous=true", 'previous terminated container "a" in pod "chatty" not found'],
    ];
    for (const [query, message] of refusals) {
      const reply = await logOf("chatty", query);
      expect(refusal(reply)).toEqual(refused(400, "BadRequest"));
      expect(reply.body.message).toBe(message);
    }
    expect(refusal(await logOf("chatty", "?container=a&tailLines=-1"))).toEqual(
      refused(422, "Invalid", "tailLines FieldValueInvalid"),
    );
    expect(refusal(await logOf("chatty", "?container=a&tailLines=x"))).toEqual(refused(400, "BadRequest"));
    expect(refusal(await logOf("nobody"))).toEqual(refused(404, "NotFound"));
  });

  it("nodes.log-unplaced: a Pod that is on no node has no log yet", async () => {
    await run("nowhere", { spec: { schedulerName: "suite.example" } });
    const { code, text } = await logOf("nowhere");
    expect([code, text]).toEqual([204, ""]);
  });
}
