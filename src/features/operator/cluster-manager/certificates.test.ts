import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace, Secret } from "#api/core";
import { ClusterManager } from "#api/operator";
import { ManualClock } from "#lib/clock";
import { parseCertificate, parseCertificates } from "#lib/pki";
import { type FakeCluster, fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { certificatesController } from "./certificates.controller.ts";
import { type KeptCertificates, renewed } from "./certificates.ts";

const START = new Date("2026-01-01T00:00:00Z");
const DAY = 24 * 3600 * 1000;
const at = (days: number) => new Date(START.getTime() + days * DAY);
const HOSTS = { one: "one.ns.svc", two: "two.ns.svc" };
type Kept = KeptCertificates<keyof typeof HOSTS>;
const NOTHING: Kept = { signer: undefined, bundle: "", serving: {} };

/** Whether whoever trusts the bundle trusts what is shown. */
function isTrusted(bundle: string, certificate: string, now: Date): boolean {
  const shown = parseCertificate(certificate);
  return (
    shown.notBefore <= now &&
    now < shown.notAfter &&
    parseCertificates(bundle).some(
      ({ subject, publicKey, notAfter }) =>
        notAfter > now && subject.raw.equals(shown.issuer.raw) && new X509Certificate(shown.der).verify(publicKey),
    )
  );
}

describe("the certificates of webhooks", () => {
  it("are made from nothing: an authority for a year, and one for each program for a month", () => {
    const { signer, bundle, serving } = renewed(NOTHING, HOSTS, START);
    const authority = parseCertificate(signer.certificate);
    expect(authority.subject.commonName).toBe(`cluster-manager-webhook@${START.getTime() / 1000}`);
    expect(authority).toMatchObject({ isAuthority: true, notAfter: at(365) });
    expect(bundle).toBe(signer.certificate);
    for (const [name, host] of Object.entries(HOSTS)) {
      const { certificate } = serving[name as keyof typeof HOSTS];
      const shown = parseCertificate(certificate);
      expect(shown).toMatchObject({ dnsNames: [host, "localhost"], ipAddresses: ["127.0.0.1"], notAfter: at(30) });
      expect(isTrusted(bundle, certificate, START)).toBe(true);
    }
  });

  it("stay as they are while four fifths of their life are not over, and are due then", () => {
    const first = renewed(NOTHING, HOSTS, START);
    expect(first.due.getTime() - at(24).getTime()).toBeLessThan(0);
    expect(first.due.getTime() - at(23.9).getTime()).toBeGreaterThan(0);
    expect(renewed(first, HOSTS, at(23.9))).toEqual(first);
    const second = renewed(first, HOSTS, at(24));
    expect(second.signer).toEqual(first.signer);
    expect(second.serving.one).not.toEqual(first.serving.one);
  });

  it("are verified through two years, and so is what a program still shows that has not read its files again", () => {
    let kept = renewed(NOTHING, HOSTS, START);
    const signers = new Set([kept.signer.certificate]);
    for (let day = 0; day < 2 * 365; day += 12) {
      const next = renewed(kept, HOSTS, at(day));
      for (const { certificate } of Object.values(next.serving)) {
        expect(isTrusted(next.bundle, certificate, at(day)), `day ${day}`).toBe(true);
      }
      // A program shows what it had until its files are replaced.
      for (const { certificate } of Object.values(kept.serving)) {
        expect(isTrusted(next.bundle, certificate, at(day)), `day ${day}, before`).toBe(true);
      }
      expect(parseCertificates(next.bundle).length).toBeLessThanOrEqual(2);
      signers.add(next.signer.certificate);
      kept = next;
    }
    expect(signers.size).toBe(3);
  });

  it("keep an authority in the bundle until it ends, the newest first", () => {
    const first = renewed(NOTHING, HOSTS, START);
    const second = renewed(first, HOSTS, at(300));
    expect(parseCertificates(second.bundle).map(({ notAfter }) => notAfter)).toEqual([at(665), at(365)]);
    expect(parseCertificates(renewed(second, HOSTS, at(366)).bundle)).toHaveLength(1);
  });

  it("do not outlive their authority", () => {
    const first = renewed(NOTHING, HOSTS, START);
    const { serving } = renewed({ ...first, serving: {} }, HOSTS, at(291));
    expect(parseCertificate(serving.one.certificate).notAfter).toEqual(at(321));
  });

  const first = renewed(NOTHING, HOSTS, START);
  const stranger = renewed(NOTHING, HOSTS, START);
  it.each<[string, Partial<Kept>]>([
    ["the authority is another's key", { signer: { ...first.signer, key: stranger.signer.key } }],
    ["the authority is no certificate", { signer: { certificate: "x", key: "y" } }],
    ["the authority is none", { signer: first.serving.one }],
    ["what is shown is another's key", { serving: { ...first.serving, one: { ...first.serving.one, key: "" } } }],
    ["what is shown is signed by a stranger", { serving: { ...first.serving, one: stranger.serving.one } }],
    ["what is shown is for another", { serving: { ...first.serving, one: first.serving.two } }],
    ["the bundle is gone", { bundle: "" }],
    ["the bundle is nonsense", { bundle: "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n" }],
  ])("are made good when %s", (_, spoilt) => {
    const { signer, bundle, serving } = renewed({ ...first, ...spoilt }, HOSTS, START);
    expect(parseCertificate(signer.certificate).isAuthority).toBe(true);
    expect(bundle).toContain(signer.certificate);
    expect(parseCertificate(serving.one.certificate).dnsNames).toContain(HOSTS.one);
    expect(isTrusted(bundle, serving.one.certificate, START)).toBe(true);
    expect(serving.two).toEqual(first.serving.two);
  });
});

describe("who keeps the certificates of webhooks", () => {
  const HUB = "open-cluster-management-hub";
  const manager = { metadata: { name: "cluster-manager" }, spec: {} };
  const certificates = (hub: FakeCluster) =>
    Object.fromEntries(hub.readAll(Secret).map(({ metadata, data }) => [metadata.name, data?.["tls.crt"]]));

  function hubAt(clock: ManualClock, ...managers: (typeof manager)[]): FakeCluster {
    return fakeCluster(
      { clock },
      [ClusterManager, ...managers],
      [Namespace, { metadata: { name: HUB } }],
      [Secret],
      [ConfigMap],
    );
  }

  it("makes them in the namespace of the hub, with the label by which they are found, and writes nothing twice", async () => {
    const clock = new ManualClock(START);
    const hub = hubAt(clock, manager);
    const controller = certificatesController({ cluster: hub, clock });
    await runUntilQuiet(controller, { clock });
    expect(Object.keys(certificates(hub)).sort()).toEqual([
      "addon-webhook-serving-cert",
      "registration-webhook-serving-cert",
      "signer-secret",
      "work-webhook-serving-cert",
    ]);
    for (const { type, metadata } of hub.readAll(Secret)) {
      expect(type).toBe("kubernetes.io/tls");
      expect(metadata.labels).toEqual({ "open-cluster-management.io/created-by-clustermanager": "cluster-manager" });
    }
    expect(hub.read(ConfigMap, `${HUB}/ca-bundle-configmap`)?.data?.["ca-bundle.crt"]).toContain("BEGIN CERTIFICATE");
    hub.writes.length = 0;
    await runUntilQuiet(certificatesController({ cluster: hub, clock }), { clock });
    expect(hub.writes).toEqual([]);
  });

  it("replaces them by itself when it is time, and trusts the authority before while it lasts", async () => {
    const clock = new ManualClock(START);
    const hub = hubAt(clock, manager);
    const running = startControllers([certificatesController({ cluster: hub, clock })], { clock });
    await running.quiet();
    const first = certificates(hub);
    hub.writes.length = 0;
    clock.advance(23 * DAY);
    await running.quiet();
    expect(hub.writes).toEqual([]);
    clock.advance(2 * DAY);
    await running.quiet();
    const second = certificates(hub);
    expect(second["signer-secret"]).toBe(first["signer-secret"]);
    expect(second["work-webhook-serving-cert"]).not.toBe(first["work-webhook-serving-cert"]);
    for (let day = 25; day < 293; day += 10) {
      clock.advance(10 * DAY);
      await running.quiet();
    }
    expect(certificates(hub)["signer-secret"]).not.toBe(first["signer-secret"]);
    const bundle = hub.read(ConfigMap, `${HUB}/ca-bundle-configmap`)?.data?.["ca-bundle.crt"] ?? "";
    expect(parseCertificates(bundle)).toHaveLength(2);
    await running.stop();
  });

  it("puts back what somebody removes or replaces", async () => {
    const clock = new ManualClock(START);
    const hub = hubAt(clock, manager);
    const running = startControllers([certificatesController({ cluster: hub, clock })], { clock });
    await running.quiet();
    hub.drop(Secret, `${HUB}/work-webhook-serving-cert`);
    await running.quiet();
    const base64 = certificates(hub)["work-webhook-serving-cert"] ?? "";
    const bundle = hub.read(ConfigMap, `${HUB}/ca-bundle-configmap`)?.data?.["ca-bundle.crt"] ?? "";
    expect(isTrusted(bundle, Buffer.from(base64, "base64").toString(), START)).toBe(true);
    await running.stop();
  });

  it.each([
    [
      "a ClusterManager that goes",
      { metadata: { ...manager.metadata, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x"] } },
    ],
    ["one that is Hosted", { ...manager, spec: { deployOption: { mode: "Hosted" } } }],
  ])("does nothing for %s", async (_, other) => {
    const clock = new ManualClock(START);
    const hub = hubAt(clock, other as typeof manager);
    await runUntilQuiet(certificatesController({ cluster: hub, clock }), { clock });
    expect(hub.writes).toEqual([]);
  });
});
