import { describe, expect, it } from "vitest";
import { KnativeServing, type KnativeStatus } from "#api/knative";
import { apiVersionOf, type ObjectMeta } from "#api/meta";
import { knativeState } from "./knative-state.ts";

const installation = (status?: KnativeStatus, metadata: Partial<ObjectMeta> = {}): KnativeServing => ({
  apiVersion: apiVersionOf(KnativeServing),
  kind: KnativeServing.kind,
  metadata: { name: "ks", namespace: "knative-serving", generation: 2, ...metadata },
  spec: { clusterProfileRef: { namespace: "fleet-system", name: "cluster1" } },
  ...(status && { status }),
});
const ready = (status: "True" | "False", observedGeneration = 2): KnativeStatus => ({
  observedGeneration,
  version: "1.23.0",
  conditions: [{ type: "Ready", status, ...(status === "False" && { reason: "NotReady", message: "Waiting on a" }) }],
});

describe("an installation", () => {
  it("is where its profile leads, and as its Ready condition says", () => {
    expect(knativeState(installation(ready("False")))).toEqual({
      cluster: "fleet-system/cluster1",
      version: "1.23.0",
      ready: "False",
      reason: "NotReady",
      message: "Waiting on a",
    });
    expect(knativeState(installation(ready("True")))).toMatchObject({ ready: "True", reason: "", message: "" });
  });

  it("is not ready because it once was, before it was changed", () => {
    expect(knativeState(installation(ready("True", 1)))).toMatchObject({ ready: "Unknown", reason: "NotSeenYet" });
    expect(knativeState(installation())).toMatchObject({ ready: "Unknown", reason: "NotSeenYet", version: "" });
  });

  it("that is being removed is not ready, and says what holds it up once somebody knows", () => {
    const leaving = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(knativeState(installation(ready("True"), leaving))).toMatchObject({ ready: "False", reason: "Deleting" });
    expect(knativeState(installation(ready("False"), leaving))).toMatchObject({ reason: "NotReady" });
  });
});
