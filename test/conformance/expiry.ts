/** What ends by itself. */
import { randomBytes } from "node:crypto";
import { beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, deployment, inGroup, type Staged } from "./stage.ts";

/** A real controller looks for Pods without a node three times a minute. */
const PATIENCE_MS = 60_000;

const timestamp = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;

export function expirySuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
    const account = at(space, "serviceaccounts", "default");
    await eventually(async () => expect((await stage().admin.get(account)).code).toBe(200));
  });
  const template = deployment("ending", 0).spec.template;

  it("expiry.job: deletes a finished Job when the time is up that it wishes to be kept", async () => {
    const { admin } = stage();
    const jobs = (name?: string) => inGroup("batch", "v1", "jobs", space, name);
    const spec = { suspend: true, template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } };
    await admin.post(jobs(), { metadata: { name: "brief" }, spec: { ...spec, ttlSecondsAfterFinished: 0 } });
    await admin.post(jobs(), { metadata: { name: "lasting" }, spec });
    const now = timestamp(new Date());
    const condition = { status: "True", reason: "CompletionsReached", message: "", lastTransitionTime: now };
    const status = {
      startTime: now,
      completionTime: now,
      succeeded: 1,
      conditions: ["SuccessCriteriaMet", "Complete"].map((type) => ({ type, ...condition })),
    };
    for (const name of ["lasting", "brief"]) {
      await eventually(async () => expect((await admin.patch(`${jobs(name)}/status`, { status })).code).toBe(200));
    }
    await eventually(async () => expect((await admin.get(jobs("brief"))).code).toBe(404));
    expect((await admin.get(jobs("lasting"))).code).toBe(200);
  });

  it("expiry.bootstrap-token: deletes bootstrap tokens that have ended, or whose end cannot be read", async () => {
    const { admin } = stage();
    const token = async (expiration: string) => {
      const id = randomBytes(3).toString("hex");
      const name = `bootstrap-token-${id}`;
      const stringData = { "token-id": id, "token-secret": "0123456789abcdef", expiration };
      await admin.post(at("kube-system", "secrets"), {
        metadata: { name },
        type: "bootstrap.kubernetes.io/token",
        stringData,
      });
      return at("kube-system", "secrets", name);
    };
    const over = [await token("2020-01-01T00:00:00Z"), await token("tomorrow")];
    const lasting = [await token("2999-01-01T00:00:00Z"), await token("")];
    for (const path of over) await eventually(async () => expect((await admin.get(path)).code).toBe(404));
    for (const path of lasting) {
      expect((await admin.get(path)).code).toBe(200);
      await admin.delete(path);
    }
  });

  it("expiry.account-token: deletes the tokens in Secrets with their service account", async () => {
    const { admin } = stage();
    await admin.post(at(space, "serviceaccounts"), { metadata: { name: "leaving" } });
    await admin.post(at(space, "secrets"), {
      metadata: { name: "token", annotations: { "kubernetes.io/service-account.name": "leaving" } },
      type: "kubernetes.io/service-account-token",
    });
    await eventually(async () => {
      const { data } = (await admin.get(at(space, "secrets", "token"))).body as { data?: { token?: string } };
      expect(data?.token).toBeTruthy();
    });
    await admin.delete(at(space, "serviceaccounts", "leaving"));
    await eventually(async () => expect((await admin.get(at(space, "secrets", "token"))).code).toBe(404));
  });

  it(
    "expiry.pod: ends a deleted Pod that never came to a node, so that those who hold it know",
    async () => {
      const { admin } = stage();
      const spec = { ...template.spec, schedulerName: "nobody" };
      await admin.post(at(space, "pods"), { metadata: { name: "held", finalizers: ["example.com/hold"] }, spec });
      await admin.delete(at(space, "pods", "held"));
      await eventually(async () => {
        const { status } = (await admin.get(at(space, "pods", "held"))).body;
        expect(status).toMatchObject({ phase: "Failed", observedGeneration: 2 });
      }, PATIENCE_MS);
      await admin.patch(at(space, "pods", "held"), { metadata: { finalizers: null } });
      expect((await admin.get(at(space, "pods", "held"))).code).toBe(404);
    },
    PATIENCE_MS + 30_000,
  );
}
