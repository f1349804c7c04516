import { describe, expect, it } from "vitest";
import { Signer } from "#api/certificates";
import { type CertificateUsage, createCertificateRequest, generateKeyPair, parseCertificateRequest } from "#lib/pki";
import { signerRules } from "./signers.ts";

const key = generateKeyPair().privateKey;
const NODE = { commonName: "system:node:n1", organizations: ["system:nodes"] };

function problem(
  signer: string,
  draft: Omit<Parameters<typeof createCertificateRequest>[0], "key">,
  ...usages: CertificateUsage[]
): string | undefined {
  return signerRules.get(signer)?.(parseCertificateRequest(createCertificateRequest({ ...draft, key })), usages);
}

describe("the signer of clients", () => {
  it.each<[why: string, usages: CertificateUsage[], isFine: boolean]>([
    ["a client", ["digital signature", "client auth"], true],
    ["no client", ["digital signature"], false],
    ["a server too", ["client auth", "server auth"], false],
  ])("%s", (_, usages, isFine) => {
    const found = problem(Signer.kubeApiserverClient, { subject: { commonName: "alice" } }, ...usages);
    expect(found === undefined).toBe(isFine);
  });
});

describe("the signer of what nodes serve by", () => {
  const serving: CertificateUsage[] = ["digital signature", "server auth"];
  const address = { ipAddresses: ["127.0.0.1"] };

  it.each<[why: string, draft: Omit<Parameters<typeof createCertificateRequest>[0], "key">, isFine: boolean]>([
    ["a node with an address", { subject: NODE, ...address }, true],
    ["a node with a name", { subject: NODE, dnsNames: ["n1"] }, true],
    ["a node without either, which nobody could check", { subject: NODE }, false],
    ["an address on the web", { subject: NODE, ...address, uris: ["https://example.com"] }, false],
    ["another group", { subject: { ...NODE, organizations: ["system:masters"] }, ...address }, false],
    ["a second group", { subject: { ...NODE, organizations: ["system:nodes", "devs"] }, ...address }, false],
    ["no node's name", { subject: { ...NODE, commonName: "alice" }, ...address }, false],
  ])("%s", (_, draft, isFine) => {
    expect(problem(Signer.kubeletServing, draft, ...serving) === undefined).toBe(isFine);
  });

  it("signs for servers and for nothing else", () => {
    const draft = { subject: NODE, ...address };
    expect(problem(Signer.kubeletServing, draft, ...serving, "key encipherment")).toBeUndefined();
    expect(problem(Signer.kubeletServing, draft, ...serving, "client auth")).toBeDefined();
    expect(problem(Signer.kubeletServing, draft, "server auth")).toBeDefined();
  });
});

describe("the signer of nodes as clients", () => {
  it("signs for a node and for no other name beside it", () => {
    const usages: CertificateUsage[] = ["digital signature", "client auth"];
    expect(problem(Signer.kubeApiserverClientKubelet, { subject: NODE }, ...usages)).toBeUndefined();
    expect(problem(Signer.kubeApiserverClientKubelet, { subject: NODE, dnsNames: ["n1"] }, ...usages)).toBeDefined();
    expect(problem(Signer.kubeApiserverClientKubelet, { subject: { commonName: "alice" } }, ...usages)).toBeDefined();
  });
});
