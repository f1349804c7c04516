import { describe, expect, it } from "vitest";
import type { CertificateSigningRequest } from "#api/certificates";
import type { DynamicObject } from "#api/meta";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import { type Bed, bed } from "../testing/bed.ts";
import { bootstrapTokenExpiryController, bootstrapTokenExpiryMs } from "./bootstrap-token-expiry.controller.ts";
import { csrExpiryController, csrExpiryMs } from "./csr-expiry.controller.ts";
import { eventExpiryController } from "./event-expiry.controller.ts";
import { jobExpiryController, jobExpiryMs } from "./job-expiry.controller.ts";

const EVENTS = "core/events";
const JOBS = "batch/jobs";
const SECRETS = "core/secrets";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = "2026-01-01T00:00:00Z";
const later = (ms: number) => new Date(Date.parse(START) + ms).toISOString().replace(".000", "");
const base64 = (text: string) => Buffer.from(text).toString("base64");

const isThere = ({ list }: Bed, storage: string, name: string) =>
  list(storage).some(({ metadata }) => metadata.name === name);

describe("Events", () => {
  const told = ({ create }: Bed, name: string, more: Partial<DynamicObject["metadata"]> = {}) =>
    create(EVENTS, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace: "default", ...more },
      involvedObject: { kind: "Pod", namespace: "default", name: "p" },
      reason: "Because",
      count: 1,
    });

  it("live for an hour after they were last written, and no finalizer prolongs it", async () => {
    const ours = await bed((parts) => [eventExpiryController(parts)]);
    await told(ours, "once", { finalizers: ["example.com/f"] });
    await told(ours, "again");
    await ours.settle();
    await ours.pass(30 * MINUTE);
    await ours.change(EVENTS, "default/again", (draft) => ({ ...draft, count: 2 }));
    await ours.settle();
    await ours.pass(30 * MINUTE - 1);
    expect(isThere(ours, EVENTS, "once")).toBe(true);
    await ours.pass(1);
    expect(isThere(ours, EVENTS, "once")).toBe(false);
    expect(isThere(ours, EVENTS, "again")).toBe(true);
    await ours.pass(30 * MINUTE);
    expect(isThere(ours, EVENTS, "again")).toBe(false);
  });

  it("all go in their time when there are many", async () => {
    const ours = await bed((parts) => [eventExpiryController(parts)]);
    await Promise.all(Array.from({ length: 1000 }, (_, index) => told(ours, `e-${index}`)));
    await ours.settle();
    await ours.pass(HOUR - 1);
    expect(ours.list(EVENTS)).toHaveLength(1000);
    await ours.pass(1);
    expect(ours.list(EVENTS)).toEqual([]);
  });
});

describe("Jobs", () => {
  const finished = (type: string, more: object = {}) => ({
    conditions: [{ type, status: "True", reason: "r", message: "m", lastTransitionTime: START, ...more }],
  });
  it.each<[string, object, object, number | undefined]>([
    ["completed", { ttlSecondsAfterFinished: 60 }, finished("Complete"), MINUTE],
    ["failed", { ttlSecondsAfterFinished: 60 }, finished("Failed"), MINUTE],
    ["to be gone at once", { ttlSecondsAfterFinished: 0 }, finished("Complete"), 0],
    ["to be kept", {}, finished("Complete"), undefined],
    ["suspended", { ttlSecondsAfterFinished: 60 }, finished("Suspended"), undefined],
    ["not quite complete", { ttlSecondsAfterFinished: 60 }, finished("Complete", { status: "False" }), undefined],
    ["running", { ttlSecondsAfterFinished: 60 }, {}, undefined],
  ])("%s", (_, spec, status, expected) => {
    const job = { apiVersion: "batch/v1", kind: "Job", metadata: { name: "j" }, spec, status };
    expect(jobExpiryMs(job)).toBe(expected === undefined ? undefined : Date.parse(START) + expected);
  });

  it("are deleted in the foreground, because their Pods go first", async () => {
    const ours = await bed((parts) => [jobExpiryController(parts)]);
    await ours.create(JOBS, {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "j", namespace: "default" },
      spec: {
        ttlSecondsAfterFinished: 60,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "registry.example/app:1" }] } },
      },
    });
    const status = { startTime: START, completionTime: START, succeeded: 1 };
    const conditions = ["SuccessCriteriaMet", "Complete"].flatMap((type) => finished(type).conditions);
    await ours.change(JOBS, "default/j", (draft) => ({ ...draft, status: { ...status, conditions } }), "status");
    await ours.settle();
    await ours.pass(MINUTE - 1);
    expect(ours.get(JOBS, "default/j")?.metadata.deletionTimestamp).toBeUndefined();
    await ours.pass(1);
    expect(ours.get(JOBS, "default/j")?.metadata).toMatchObject({
      deletionTimestamp: later(MINUTE),
      finalizers: ["foregroundDeletion"],
    });
  });

  it("get the time that somebody grants them in the meantime", async () => {
    const ours = await bed((parts) => [jobExpiryController(parts)]);
    await ours.store.write(JOBS, "default/j", () => ({
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name: "j", namespace: "default", uid: "u" },
      spec: { ttlSecondsAfterFinished: 60 },
      status: finished("Complete"),
    }));
    await ours.settle();
    await ours.pass(MINUTE / 2);
    await ours.store.write(JOBS, "default/j", (current) => ({
      ...(current as DynamicObject),
      spec: { ttlSecondsAfterFinished: 120 },
    }));
    await ours.pass(MINUTE);
    expect(ours.get(JOBS, "default/j")?.metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("CertificateSigningRequests", () => {
  const ca = createCertificateAuthority({ commonName: "ca", now: new Date(START) });
  const certificate = (notAfter: Date) =>
    base64(
      issueCertificate({
        ca,
        subject: { commonName: "x" },
        publicKey: generateKeyPair().publicKey,
        usages: ["client auth"],
        notBefore: new Date(START),
        notAfter,
      }),
    );
  const decided = (...types: string[]) => types.map((type) => ({ type, status: "True", lastUpdateTime: START }));

  it.each<[string, object, number | undefined]>([
    ["without an answer, a day", {}, 24 * HOUR],
    ["denied, an hour", { conditions: decided("Denied") }, HOUR],
    ["failed, an hour", { conditions: decided("Approved", "Failed") }, HOUR],
    ["approved and not signed, a day", { conditions: decided("Approved") }, 24 * HOUR],
    ["signed, an hour", { conditions: decided("Approved"), certificate: certificate(new Date(later(2 * HOUR))) }, HOUR],
    [
      "signed for shorter, as long",
      { conditions: decided("Approved"), certificate: certificate(new Date(later(10 * MINUTE))) },
      10 * MINUTE,
    ],
    [
      "signed with what is no certificate, an hour",
      { conditions: decided("Approved"), certificate: base64("x") },
      HOUR,
    ],
    ["with a word that nobody knows, for good", { conditions: decided("Postponed") }, undefined],
  ])("%s", (_, status, expected) => {
    const request = { metadata: { name: "r", creationTimestamp: START }, status } as CertificateSigningRequest;
    expect(csrExpiryMs(request)).toBe(expected === undefined ? undefined : Date.parse(START) + expected);
  });

  it("go when their time has come", async () => {
    const ours = await bed((parts) => [csrExpiryController(parts)]);
    const storage = "certificates.k8s.io/certificatesigningrequests";
    await ours.store.write(storage, "r", () => ({
      apiVersion: "certificates.k8s.io/v1",
      kind: "CertificateSigningRequest",
      metadata: { name: "r", uid: "u", creationTimestamp: START },
    }));
    await ours.settle();
    await ours.pass(24 * HOUR - 1);
    expect(isThere(ours, storage, "r")).toBe(true);
    await ours.pass(1);
    expect(isThere(ours, storage, "r")).toBe(false);
  });
});

describe("bootstrap tokens", () => {
  const token = (expiration: string, more: object = {}): DynamicObject => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "bootstrap-token-abcdef", namespace: "kube-system" },
    type: "bootstrap.kubernetes.io/token",
    data: { expiration: base64(expiration) },
    ...more,
  });

  it.each<[string, DynamicObject, number | undefined]>([
    ["with a date end then", token("2026-01-01T00:01:00Z"), Date.parse(later(MINUTE))],
    ["in another zone, too", token("2026-01-01T01:01:00+01:00"), Date.parse(later(MINUTE))],
    ["with a date that cannot be read are over", token("tomorrow"), 0],
    ["with a date that no calendar has are over", token("2026-13-01T00:00:00Z"), 0],
    ["in a form that programs do not agree on are over", token("2026-01-01"), 0],
    ["without a date never end", token("", { data: {} }), undefined],
    ["of another type are none", token(later(MINUTE), { type: "Opaque" }), undefined],
    ["elsewhere are none", token(later(MINUTE), { metadata: { name: "t", namespace: "default" } }), undefined],
  ])("%s", (_, secret, expected) => {
    expect(bootstrapTokenExpiryMs(secret)).toBe(expected);
  });

  it("are deleted when they end", async () => {
    const ours = await bed((parts) => [bootstrapTokenExpiryController(parts)]);
    await ours.create("core/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system" } });
    await ours.create(SECRETS, token(later(MINUTE)));
    await ours.settle();
    await ours.pass(MINUTE - 1);
    expect(ours.list(SECRETS)).toHaveLength(1);
    await ours.pass(1);
    expect(ours.list(SECRETS)).toEqual([]);
  });
});
