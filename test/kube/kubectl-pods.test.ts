/** kubectl and Pods, as people type it: running, waiting, logs, deleting, with our nodes on both kinds of servers. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServiceAccount } from "#api/core";
import { kubeconfigText } from "#kube";
import { eventually } from "../support/eventually.ts";
import { type StartServer, startEmbedded, type TestServer } from "../support/servers.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();
const SERVERS: [name: string, start: StartServer][] = [
  ["embedded", startEmbedded],
  ["real", startControlPlane],
];

const TWO_CONTAINERS = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "pair" },
  spec: { containers: ["a", "b"].map((name) => ({ name, image: `registry.example/${name}:1` })) },
};

describe.skipIf(missing).each(SERVERS)(
  `kubectl and Pods on the %s server${missing ? ` (${missing})` : ""}`,
  (name, start) => {
    let server: TestServer;
    let dir: string;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "capstan-kubectl-"));
      server = await start(name, { nodes: { count: 1 } });
      await writeFile(join(dir, "config"), kubeconfigText(server.kubeconfig), { mode: 0o600 });
      await eventually(() => server.client.get(ServiceAccount, "default/default"));
    }, 120_000);
    afterAll(async () => {
      await server?.close();
      await rm(dir, { recursive: true, force: true });
    }, 60_000);

    function kubectl(args: string, input = ""): Promise<{ code: number; out: string; err: string }> {
      return new Promise((resolve) => {
        const all = ["--kubeconfig", join(dir, "config"), "--cache-dir", join(dir, "cache"), ...args.split(" ")];
        const child = execFile("kubectl", all, { timeout: 60_000 }, (error, out, err) => {
          resolve({ code: error ? (typeof error.code === "number" ? error.code : -1) : 0, out, err });
        });
        child.stdin?.end(input);
      });
    }
    async function output(args: string, input?: string): Promise<string> {
      const { code, out, err } = await kubectl(args, input);
      expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
      return out;
    }

    it("runs a Pod, waits for it, reads its log and deletes it", async () => {
      await output("run web --image=nginx:1");
      await output("wait --for=condition=Ready pod/web --timeout=20s");
      expect(await output("get pod web --no-headers")).toMatch(/^web\s+1\/1\s+Running\s+0\s/);
      expect(await output("logs web")).toMatch(/^simulated by Capstan: container web .*\n$/);
      expect(await output("logs web --tail=0")).toBe("");
      expect(await output("logs web --timestamps --since=1h")).toMatch(/^\d{4}-\S+Z simulated/);
      const followed = output("logs web --follow");
      await output("delete pod web --timeout=20s");
      expect(await followed).toMatch(/^simulated/);
    });

    it("names the container, or all of them", async () => {
      await output("apply -f -", JSON.stringify(TWO_CONTAINERS));
      await output("wait --for=condition=Ready pod/pair --timeout=20s");
      expect(await output("logs pair -c b")).toContain("registry.example/b:1");
      expect((await output("logs pair --all-containers")).trim().split("\n")).toHaveLength(2);
      expect((await kubectl("logs pair -c c")).err).toContain("container c is not valid for pod pair");
    });

    it("finds the Pods of a Deployment", async () => {
      await output("create deployment dep --image=nginx:1 --replicas=2");
      await output("rollout status deployment/dep --timeout=30s");
      expect(await output("logs deployment/dep")).toContain("simulated by Capstan");
    });

    it("reads what a container wrote before it crashed", async () => {
      await output("run crash --image=nginx:1 --annotations=simulate.capstan.dev/fail=CrashLoopBackOff");
      await eventually(async () => expect(await output("get pod crash --no-headers")).toContain("CrashLoopBackOff"));
      expect(await output("logs crash --previous")).toContain("simulated by Capstan");
    });

    it("waits for a Job, which ends as its command does", async () => {
      await output("create job good --image=busybox -- true");
      await output("wait --for=condition=Complete job/good --timeout=30s");
      await output("run bad --image=busybox --restart=Never -- false");
      await output("wait --for=jsonpath={.status.phase}=Failed pod/bad --timeout=20s");
    });

    it("adds a container to look at a Pod", async () => {
      await output("run looked --image=nginx:1");
      await output("wait --for=condition=Ready pod/looked --timeout=20s");
      await output("debug looked --image=busybox --container=look --attach=false");
      await eventually(async () =>
        expect(await output("get pod looked -o jsonpath={.status.ephemeralContainerStatuses[0].state}")).toContain(
          "running",
        ),
      );
    });

    it("is told that there is nothing to reach into", async () => {
      await output("run closed --image=nginx:1");
      await output("wait --for=condition=Ready pod/closed --timeout=20s");
      for (const args of ["exec closed -- ls", "port-forward closed 18080:80"]) {
        const { code, err } = await kubectl(args);
        expect(code).not.toBe(0);
        expect(err).toMatch(/simulate/);
      }
    });

    it("drains a node", async () => {
      await output(`cordon ${name}-node`);
      expect(await output(`get node ${name}-node --no-headers`)).toContain("Ready,SchedulingDisabled");
      await output("run waiting --image=nginx:1");
      await eventually(async () => expect(await output("describe pod waiting")).toContain("FailedScheduling"));
      await output(`drain ${name}-node --force --ignore-daemonsets --timeout=40s`);
      await output(`uncordon ${name}-node`);
      await output("wait --for=condition=Ready pod/waiting --timeout=20s");
    });
  },
);
