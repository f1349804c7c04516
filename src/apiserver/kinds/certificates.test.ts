import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { created, edited, find, NOW, shown, updated } from "./testing/drafts.ts";

const { privateKey } = generateKeyPair();
const request = (organizations: string[] = []) =>
  Buffer.from(createCertificateRequest({ subject: { commonName: "c", organizations }, key: privateKey })).toString(
    "base64",
  );
const SPEC = { request: request(), signerName: "kubernetes.io/kube-apiserver-client", usages: ["client auth"] };
const approved = { type: "Approved", status: "True", reason: "Ok", message: "m" };
const denied = { ...approved, type: "Denied" };

const resource = find("CertificateSigningRequest");
const fresh = () => created(resource, { spec: SPEC }).object;
const decide = (csr: DynamicObject, ...conditions: object[]) =>
  edited(resource, "approval", csr, (draft) => {
    draft.status = { conditions };
  });

describe("certificate signing requests", () => {
  it("speak for whoever sent them, whatever they say", () => {
    const spec = { ...SPEC, username: "root", groups: ["system:masters"], extra: { a: ["b"] } };
    const { object, errors } = created(resource, { spec, status: { conditions: [approved] } });
    expect(errors).toEqual([]);
    expect(object.spec).toEqual({ ...SPEC, username: "alice", uid: "u-1", groups: ["devs", "system:authenticated"] });
    expect(object.status).toEqual({});
  });

  const rows: [why: string, change: Record<string, unknown>, errors: string[]][] = [
    ["a request is PEM", { request: "YWJj" }, ["spec.request: Invalid"]],
    ["signers have a domain", { signerName: "bad" }, ["spec.signerName: Invalid"]],
    ["the old signer is closed", { signerName: "kubernetes.io/legacy-unknown" }, ["spec.signerName: Invalid"]],
    ["usages are needed", { usages: [] }, ["spec.usages: Required"]],
    ["usages are known", { usages: ["flying"] }, ["spec.usages[0]: NotSupported"]],
    ["usages are named once", { usages: ["client auth", "client auth"] }, ["spec.usages[1]: Duplicate"]],
    ["ten minutes at least", { expirationSeconds: 60 }, ["spec.expirationSeconds: Invalid"]],
  ];
  it.each(rows)("%s", (_, change, errors) => {
    expect(shown(created(resource, { spec: { ...SPEC, ...change } }).errors)).toEqual(errors);
  });

  it("never ask for system:masters, because no permission could take it back", () => {
    expect(() => created(resource, { spec: { ...SPEC, request: request(["system:masters"]) } })).toThrow(
      "use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed",
    );
  });

  it("keep what was asked for", () => {
    const { object, errors } = updated(resource, fresh(), (draft) => {
      draft.spec = { ...SPEC, usages: ["server auth"] };
      draft.status = { conditions: [approved] };
    });
    expect(errors).toEqual([]);
    expect(object).toEqual(fresh());
  });

  it("are approved with the time filled in", () => {
    const { object, errors } = decide(fresh(), approved);
    const at = NOW.toISOString().replace(".000", "");
    expect(errors).toEqual([]);
    expect(object.status).toEqual({ conditions: [{ ...approved, lastUpdateTime: at, lastTransitionTime: at }] });
    expect(object.spec).toEqual(fresh().spec);
  });

  it("are not decided both ways, and a decision stays", () => {
    const decided = decide(fresh(), approved).object;
    expect(shown(decide(decided, approved, denied).errors)).toEqual(["status.conditions: Invalid"]);
    expect(shown(decide(decided).errors)).toEqual(["status.conditions: Forbidden"]);
    expect(shown(decide(fresh(), { ...approved, status: "False" }).errors)).toEqual([
      "status.conditions[0].status: NotSupported",
    ]);
  });

  it("are approved only by one who may approve for the signer, or for its domain", () => {
    const asked: (string | undefined)[] = [];
    const authorize = ({ name }: { name?: string | undefined }) => {
      asked.push(name);
      return { allowed: false, reason: "" };
    };
    const guarded = find("CertificateSigningRequest", undefined, {
      authorize: (attributes) => authorize("path" in attributes ? {} : attributes),
    });
    expect(() => edited(guarded, "approval", fresh(), () => {})).toThrow(
      'user not permitted to approve requests with signerName "kubernetes.io/kube-apiserver-client"',
    );
    expect(asked).toEqual(["kubernetes.io/kube-apiserver-client", "kubernetes.io/*"]);
  });

  it("are signed through /status, which decides nothing", () => {
    const { object, errors } = edited(resource, "status", decide(fresh(), approved).object, (draft) => {
      draft.status = { conditions: [denied], certificate: Buffer.from("no certificate").toString("base64") };
    });
    expect(object.status).toMatchObject({ conditions: [{ type: "Approved" }] });
    expect(shown(errors)).toEqual(["status.certificate: Invalid"]);
  });
});
