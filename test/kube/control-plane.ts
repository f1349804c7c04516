/** A real control plane on loopback: etcd, kube-apiserver and kube-controller-manager, for as long as a test runs. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, openSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connectionOf, createClient, kubeconfigFor, kubeconfigText } from "#kube";
import { type CertificateAuthority, createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import type { RestorableServer } from "../support/mortal-server.ts";
import { startTestNodes } from "../support/nodes.ts";
import { type Presented, type RenewableServer, servingPairOf } from "../support/renewable-servers.ts";
import type { ServerOptions } from "../support/servers.ts";

const programs = process.env.KUBEBUILDER_ASSETS ?? fileURLToPath(new URL("../../.kube/bin", import.meta.url));

/** Why there is no real control plane here; undefined when there is one. A missing one fails where it is required. */
export function missingControlPlane(): string | undefined {
  const missing = ["etcd", "kube-apiserver", "kube-controller-manager"].filter(
    (name) => !existsSync(join(programs, name)),
  );
  if (missing.length === 0) return undefined;
  const why = `${missing.join(", ")} not found in ${programs}; run \`npm run kube:build\``;
  if (process.env.CAPSTAN_REQUIRE?.split(",").includes("kube")) throw new Error(why);
  return why;
}

/** Starting takes three seconds on a quiet machine and ten on a busy one. */
const START_PATIENCE_MS = 60_000;

/** A real one can also tell its processes, for benchmarks, and be killed. */
export interface ControlPlane extends RenewableServer, RestorableServer {
  readonly pids: readonly number[];
}

export interface ControlPlaneOptions extends ServerOptions {
  /** Whether etcd waits for the disk; tests do without. */
  readonly fsync?: boolean;
  /** Whether requests are logged; it takes time, and few ask for it. */
  readonly audit?: boolean;
  /** Whether webhooks are asked; where Pods are simulated nobody would answer. They are unless told. */
  readonly webhooks?: boolean;
  /** How long certificates live that it signs, in seconds; a year unless told. */
  readonly signingSeconds?: number;
  /** PEM of further authorities that its administrator trusts. */
  readonly trusted?: string;
}

/** When a request was answered, and when an answer began that takes long: as much as the embedded server logs. */
const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "Metadata" }],
};

export async function startControlPlane(name: string, options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const dir = await mkdtemp(join(tmpdir(), `capstan-kube-${name}-`));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children.reverse()) await end(child);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    return await start(name, dir, options, children, close);
  } catch (error) {
    const logs = await Promise.all(
      children.map(async ({ spawnfile }) => tail(join(dir, `${spawnfile.split("/").pop()}.log`))),
    );
    await close();
    throw new Error(`the control plane ${name} did not start:\n${logs.join("\n")}`, { cause: error });
  }
}

async function start(
  name: string,
  dir: string,
  { fsync = false, audit = false, webhooks = true, signingSeconds, trusted = "", nodes: wanted }: ControlPlaneOptions,
  children: ChildProcess[],
  close: () => Promise<void>,
): Promise<ControlPlane> {
  const [etcdPort, peerPort, port, managerPort] = await freePorts(4);
  const keys = await writeKeys(dir);
  const url = `https://127.0.0.1:${port}`;
  const [auditLog, auditPolicy] = [join(dir, "audit.log"), join(dir, "audit-policy.json")];
  await writeFile(auditPolicy, JSON.stringify(AUDIT_POLICY));
  const run = (program: string, args: string[]) => {
    const log = openSync(join(dir, `${program}.log`), "a");
    const child = spawn(join(programs, program), args, { stdio: ["ignore", log, log] });
    children.push(child);
    return child;
  };

  const keep = () =>
    run("etcd", [
      `--data-dir=${join(dir, "etcd")}`,
      ...(fsync ? [] : ["--unsafe-no-fsync"]),
      `--listen-client-urls=http://127.0.0.1:${etcdPort}`,
      `--advertise-client-urls=http://127.0.0.1:${etcdPort}`,
      `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
      `--initial-advertise-peer-urls=http://127.0.0.1:${peerPort}`,
      `--initial-cluster=default=http://127.0.0.1:${peerPort}`,
    ]);
  const serve = () =>
    run("kube-apiserver", [
      `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${port}`,
      "--advertise-address=192.0.2.1", // loopback is refused here; nothing connects to it
      `--tls-cert-file=${keys.file("serving.crt")}`,
      `--tls-private-key-file=${keys.file("serving.key")}`,
      `--client-ca-file=${keys.file("ca.crt")}`,
      "--service-cluster-ip-range=10.96.0.0/16",
      "--authorization-mode=Node,RBAC",
      "--enable-bootstrap-token-auth=true",
      "--allow-privileged=true",
      "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
      `--service-account-key-file=${keys.file("accounts.pub")}`,
      `--service-account-signing-key-file=${keys.file("accounts.key")}`,
      `--requestheader-client-ca-file=${keys.file("ca.crt")}`,
      "--requestheader-allowed-names=front-proxy-client",
      "--requestheader-username-headers=X-Remote-User",
      "--requestheader-group-headers=X-Remote-Group",
      "--requestheader-extra-headers-prefix=X-Remote-Extra-",
      `--kubelet-client-certificate=${keys.file("kubelet-client.crt")}`,
      `--kubelet-client-key=${keys.file("kubelet-client.key")}`,
      `--kubelet-certificate-authority=${keys.file("ca.crt")}`,
      "--kubelet-preferred-address-types=InternalIP",
      ...(webhooks ? [] : ["--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook"]),
      ...(audit ? [`--audit-policy-file=${auditPolicy}`, `--audit-log-path=${auditLog}`] : []),
    ]);

  let storage = keep();
  let server = serve();
  const kubeconfig = kubeconfigFor({ name, server: url, ca: keys.ca.certificate + trusted, ...keys.administrator });
  const client = createClient({ connection: await connectionOf(kubeconfig) });
  await until(async () => (await client.raw("/readyz")) === "ok");
  const managerConfig = join(dir, "controller-manager.kubeconfig");
  await writeFile(
    managerConfig,
    kubeconfigText(kubeconfigFor({ name, server: url, ca: keys.ca.certificate + trusted, ...keys.manager })),
  );
  const manage = () =>
    run("kube-controller-manager", [
      `--kubeconfig=${managerConfig}`,
      `--authentication-kubeconfig=${managerConfig}`,
      `--authorization-kubeconfig=${managerConfig}`,
      "--bind-address=127.0.0.1",
      `--secure-port=${managerPort}`,
      `--cert-dir=${join(dir, "manager")}`,
      "--leader-elect=false",
      "--use-service-account-credentials=true",
      "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
      `--service-account-private-key-file=${keys.file("accounts.key")}`,
      `--root-ca-file=${keys.file("root-ca.crt")}`,
      `--cluster-signing-cert-file=${keys.file("ca.crt")}`,
      `--cluster-signing-key-file=${keys.file("ca.key")}`,
      ...(signingSeconds === undefined ? [] : [`--cluster-signing-duration=${signingSeconds}s`]),
    ]);
  let manager = manage();
  const nodes = wanted && (await startTestNodes(name, kubeconfig, wanted));
  /** Killed, all of them; what is done while they are down is done before they are back. */
  const whileDown = async (task: () => Promise<void>) => {
    for (const child of [manager, server, storage]) {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await gone;
      children.splice(children.indexOf(child), 1);
    }
    await task();
    storage = keep();
    server = serve();
    await until(async () => (await client.raw("/readyz")) === "ok");
    manager = manage();
  };
  const [state, copy] = [join(dir, "etcd"), join(dir, "etcd-then")];
  return {
    name,
    url,
    authority: keys.ca.certificate,
    signer: keys.ca,
    kubeconfig,
    client,
    auditLog,
    pids: children.flatMap(({ pid }) => pid ?? []),
    crash: () => whileDown(async () => {}),
    backUp: () => whileDown(() => cp(state, copy, { recursive: true })),
    restore: () =>
      whileDown(async () => {
        await rm(state, { recursive: true, force: true });
        await cp(copy, state, { recursive: true });
      }),
    async present({ by, told }: Presented) {
      const pair = servingPairOf(by);
      await keys.put("serving.crt", pair.certificate);
      await keys.put("serving.key", pair.key);
      await keys.put("root-ca.crt", told);
      for (const child of [manager, server]) {
        await end(child);
        children.splice(children.indexOf(child), 1);
      }
      server = serve();
      await until(async () => (await client.raw("/readyz")) === "ok");
      manager = manage();
    },
    async close() {
      await nodes?.stop();
      client.close();
      await close();
    },
  };
}

async function writeKeys(dir: string) {
  const now = new Date();
  const ca = createCertificateAuthority({ commonName: "test", now, years: 1 });
  const folder = join(dir, "keys");
  await mkdir(folder);
  const file = (name: string) => join(folder, name);
  const put = (name: string, text: string) => writeFile(file(name), text, { mode: 0o600 });

  const serving = issued(
    ca,
    now,
    { commonName: "kube-apiserver" },
    {
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1", "10.96.0.1"],
    },
  );
  const accounts = generateKeyPair();
  const kubeletClient = issued(ca, now, {
    commonName: "kube-apiserver-kubelet-client",
    organizations: ["system:masters"],
  });
  await Promise.all([
    put("ca.crt", ca.certificate),
    put("root-ca.crt", ca.certificate),
    put("ca.key", ca.key),
    put("serving.crt", serving.cert),
    put("serving.key", serving.key),
    put("kubelet-client.crt", kubeletClient.cert),
    put("kubelet-client.key", kubeletClient.key),
    put("accounts.key", accounts.privateKey),
    put("accounts.pub", accounts.publicKey),
  ]);
  return {
    ca,
    file,
    put,
    administrator: issued(ca, now, { commonName: "admin", organizations: ["system:masters"] }),
    manager: issued(ca, now, { commonName: "system:kube-controller-manager" }),
  };
}

function issued(
  ca: CertificateAuthority,
  now: Date,
  subject: { commonName: string; organizations?: string[] },
  names?: { dnsNames: string[]; ipAddresses: string[] },
): { cert: string; key: string } {
  const pair = generateKeyPair();
  const cert = issueCertificate({
    ca,
    subject,
    publicKey: pair.publicKey,
    usages: ["digital signature", "key encipherment", names ? "server auth" : "client auth"],
    notBefore: new Date(now.getTime() - 300_000),
    notAfter: new Date(now.getTime() + 30 * 86_400_000),
    ...names,
  });
  return { cert, key: pair.privateKey };
}

/** Ports that are free at this moment, all held until all are known. */
async function freePorts(count: number): Promise<[number, number, number, number]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports as [number, number, number, number];
}

async function until(fulfilled: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + START_PATIENCE_MS;
  for (;;) {
    const ready = await fulfilled().catch((error: unknown) => {
      if (Date.now() > deadline) throw error;
      return false;
    });
    if (ready) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function tail(path: string): Promise<string> {
  return `${path}:\n${(await readFile(path, "utf8").catch(() => "")).slice(-2000)}`;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  child.kill("SIGTERM");
  const cut = setTimeout(() => child.kill("SIGKILL"), 5_000);
  await gone;
  clearTimeout(cut);
}
