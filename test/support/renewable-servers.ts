/** API servers whose serving authority can be changed while others talk to them, as an administrator would change it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedCluster, openCluster, openSharedPort, type SharedPort } from "#apiserver";
import { connectionOf, createClient, kubeconfigFor } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type CertificateAuthority, createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import type { TestServer } from "./servers.ts";

/** What a server shows from now on, and what it tells others to trust. */
export interface Presented {
  /** Who signs its certificate. */
  readonly by: CertificateAuthority;
  /** PEM of the authorities in kube-root-ca.crt. */
  readonly told: string;
}

export interface RenewableServer extends TestServer {
  /** Who signed its certificate at first. */
  readonly signer: CertificateAuthority;
  /** Starts over with another certificate; who its clients are does not change. */
  present(presented: Presented): Promise<void>;
}

export interface RenewableOptions {
  /** PEM of the authorities to come, which its administrator trusts. */
  readonly trusted?: string;
  /** How long certificates live that it signs, in seconds. */
  readonly signingSeconds?: number;
}

export type StartRenewable = (name: string, options?: RenewableOptions) => Promise<RenewableServer>;

export function newAuthority(commonName: string): CertificateAuthority {
  return createCertificateAuthority({ commonName, now: new Date(), years: 1 });
}

/** A certificate for a server on this machine. */
export function servingPairOf(ca: CertificateAuthority): { readonly certificate: string; readonly key: string } {
  const pair = generateKeyPair();
  const now = Date.now();
  const certificate = issueCertificate({
    ca,
    subject: { commonName: "kube-apiserver" },
    publicKey: pair.publicKey,
    usages: ["digital signature", "key encipherment", "server auth"],
    dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
    ipAddresses: ["127.0.0.1", "10.96.0.1"],
    notBefore: new Date(now - 300_000),
    notAfter: new Date(now + 30 * 86_400_000),
  });
  return { certificate, key: pair.privateKey };
}

/**
 * An embedded one. Those that share a port have one authority for their clients and another for the port; so the port's
 * can be changed alone, by what it keeps of itself.
 */
export const startRenewableEmbedded: StartRenewable = async (name, options = {}) => {
  const { trusted = "", signingSeconds = 3600 } = options;
  const dir = await mkdtemp(join(tmpdir(), `capstan-renewable-${name}-`));
  const file = join(dir, "shared-port.json");
  let port: SharedPort;
  let cluster: EmbeddedCluster;
  const open = async () => {
    port = await openSharedPort({ file, ports: [0], now: new Date() });
    cluster = await openCluster({
      name,
      dir: join(dir, name),
      durability: "os",
      ports: [0],
      shared: port,
      signingDurationMs: signingSeconds * 1000,
      version: "0.0.0-test",
      clock: systemClock,
      log: silentLog,
    });
    return cluster;
  };
  const shut = async () => {
    await cluster.close();
    await port.close();
  };
  const signer = newAuthority("capstan-first");
  const keep = async ({ by, told }: Presented, kept: object) =>
    writeFile(file, JSON.stringify({ ...kept, format: 1, authority: told, serving: servingPairOf(by) }));

  await open();
  await shut();
  await keep({ by: signer, told: signer.certificate }, JSON.parse(await readFile(file, "utf8")));
  const { url, authority, administrator } = await open();
  const kubeconfig = kubeconfigFor({
    name,
    server: url,
    ca: authority + trusted,
    cert: administrator.certificate,
    key: administrator.key,
  });
  const client = createClient({ connection: await connectionOf(kubeconfig) });
  return {
    name,
    url,
    authority,
    signer,
    kubeconfig,
    client,
    auditLog: join(dir, name, "audit.log"),
    async present(presented) {
      await shut();
      await keep(presented, JSON.parse(await readFile(file, "utf8")));
      await open();
    },
    async close() {
      client.close();
      await shut();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
