/**
 * A registration agent between a hub and a spoke in memory, with a clock that the test holds. The hub is trusted, knows
 * certificates and tokens, and can change its mind about all of it.
 */
import { ClusterProperty } from "#api/about";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterClaim, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Node, Secret } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { type RegistrationAgentOptions, runRegistrationAgent } from "#features/registration/agent";
import { type Client, KubeError, kubeconfigFor, kubeconfigText, parseKubeconfig } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import {
  type CertificateAuthority,
  createCertificateAuthority,
  issueCertificate,
  parseCertificateRequest,
} from "#lib/pki";
import { type FakeCluster, fakeCluster } from "./fake-cluster.ts";

export const AGENT_SECRET = "open-cluster-management-agent/hub-kubeconfig-secret";

export interface AgentStageOptions {
  readonly clock?: ManualClock;
  /** How long certificates live that the hub signs; an hour unless told. */
  readonly certificateMs?: number;
}

export class AgentStage {
  readonly clock: ManualClock;
  readonly hub: FakeCluster;
  readonly spoke: FakeCluster;
  /** The kubeconfigs that the agent connected with, oldest first, but for those of nobody. */
  readonly connections: string[] = [];
  /** By whose word the hub is the hub: PEM. */
  authority: CertificateAuthority;
  /** Tokens that the hub knows. */
  readonly tokens = new Set(["bootstrap-token"]);
  /** Whether the hub knows a certificate (PEM); all that it signed unless told. */
  knows: (certificate: string) => boolean = () => true;
  /** Whether anybody answers. */
  isAway = false;
  /** What the agent has no right to: `get ConfigMap`. It may do everything unless told. */
  refuses: (call: string) => boolean = () => false;
  /** What the agent's connections were used for, oldest first: `get ManagedCluster`. */
  readonly asked: string[] = [];
  readonly #certificateMs: number;
  readonly #stops: (() => Promise<void>)[] = [];

  constructor({ clock = new ManualClock("2026-01-01T00:00:00Z"), certificateMs = 3_600_000 }: AgentStageOptions = {}) {
    this.clock = clock;
    this.#certificateMs = certificateMs;
    this.hub = fakeCluster({ clock }, [ManagedCluster]);
    this.spoke = fakeCluster({ clock, name: "c1" }, [Node], [ClusterClaim], [ClusterProperty]);
    this.authority = this.newAuthority("first");
  }

  newAuthority(commonName: string): CertificateAuthority {
    return createCertificateAuthority({ commonName, now: new Date("2025-12-01T00:00:00Z") });
  }

  bootstrap(changes: { ca?: string; token?: string; name?: string; server?: string } = {}): string {
    const { ca = this.authority.certificate, token = "bootstrap-token", name = "hub", server } = changes;
    return kubeconfigText(kubeconfigFor({ name, server: server ?? "https://hub:6443", ca, token }));
  }

  /** Starts an agent; the answer stops it. */
  start(options: Partial<RegistrationAgentOptions> = {}): () => Promise<void> {
    const abort = new AbortController();
    const raw = async (path: string) => (path === "/version" ? '{"gitVersion":"v1.34.0"}' : "ok");
    const ended = runRegistrationAgent({
      spoke: { ...this.spoke, client: { ...this.spoke.client, raw } },
      clusterName: "c1",
      bootstrapKubeconfig: this.bootstrap(),
      connectHub: (kubeconfig) => this.#connect(kubeconfig),
      leaseDurationSeconds: 60,
      clock: this.clock,
      log: silentLog,
      signal: abort.signal,
      random: () => 0,
      ...options,
    });
    const stop = async () => {
      abort.abort();
      await ended;
    };
    this.#stops.push(stop);
    return stop;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
  }

  /** The hub as somebody sees it who trusts and shows what a kubeconfig says. */
  #connect(kubeconfig: string): FakeCluster {
    const config = parseKubeconfig(kubeconfig, "the agent's");
    const [cluster, user] = [config.clusters[0], config.users[0]];
    const trusted = cluster?.ca && "pem" in cluster.ca ? cluster.ca.pem : "";
    const shown = user?.cert && "pem" in user.cert ? user.cert.pem : undefined;
    if (user) this.connections.push(kubeconfig);
    const refusal = (asked: string): KubeError | undefined => {
      if (this.isAway) return new KubeError("unreachable", "GET /: cannot connect: connect ECONNREFUSED");
      if (!trusted.includes(this.authority.certificate.trim())) {
        return new KubeError("unreachable", "GET /: cannot connect: unable to verify the first certificate");
      }
      if (!user) return new KubeError("status", "forbidden (403 Forbidden)", { code: 403, reason: "Forbidden" });
      const isKnown = shown === undefined ? this.tokens.has(user.token ?? "") : this.knows(shown);
      if (!isKnown) return new KubeError("status", "who? (401 Unauthorized)", { code: 401 });
      if (!this.refuses(asked)) return undefined;
      return new KubeError("status", "forbidden (403 Forbidden)", { code: 403, reason: "Forbidden" });
    };
    const guarded = (name: string, call: unknown) =>
      typeof call !== "function"
        ? call
        : async (...args: unknown[]) => {
            const asked = `${name} ${(args[0] as Kind<KubeObject>).kind}`;
            this.asked.push(asked);
            const error = refusal(asked);
            if (error) throw error;
            return call(...args);
          };
    const calls = ["get", "list", "create", "update", "patch", "delete"] as const;
    const client = {
      ...this.hub.client,
      ...Object.fromEntries(calls.map((name) => [name, guarded(name, this.hub.client[name])])),
    } as Client;
    return { ...this.hub, client };
  }

  requests(): CertificateSigningRequest[] {
    return this.hub.readAll(CertificateSigningRequest);
  }

  /** Whom a request asks to be. */
  askedFor(request: CertificateSigningRequest | undefined): string | undefined {
    const text = Buffer.from(request?.spec.request ?? "", "base64").toString();
    return parseCertificateRequest(text).subject.commonName;
  }

  /** What an administrator and the hub's signer do with the first request that nobody has answered. */
  sign(): void {
    const request = this.requests().find(({ status }) => !status);
    if (!request) throw new Error("nobody asked");
    const { subject, publicKey } = parseCertificateRequest(Buffer.from(request.spec.request, "base64").toString());
    const now = this.clock.now().getTime();
    const certificate = issueCertificate({
      ca: this.authority,
      subject,
      publicKey,
      usages: ["client auth"],
      notBefore: new Date(now),
      notAfter: new Date(now + this.#certificateMs),
    });
    const conditions = [{ type: "Approved", status: "True" } as const];
    const status = { conditions, certificate: Buffer.from(certificate).toString("base64") };
    this.hub.put(CertificateSigningRequest, { ...request, status });
  }

  accept(): void {
    const cluster = this.hub.read(ManagedCluster, "c1");
    if (!cluster) throw new Error("there is no cluster to accept");
    const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "" };
    this.hub.put(ManagedCluster, { ...cluster, status: { conditions: [{ ...condition, status: "True" }] } });
    this.hub.put(Lease, { metadata: { name: "managed-cluster-lease", namespace: "c1" }, spec: {} });
  }

  beat(): string | undefined {
    return this.hub.read(Lease, "c1/managed-cluster-lease")?.spec?.renewTime;
  }

  condition(type: string) {
    return this.hub.read(ManagedCluster, "c1")?.status?.conditions?.find((each) => each.type === type);
  }

  stored(key: string): string {
    return Buffer.from(this.spoke.read(Secret, AGENT_SECRET)?.data?.[key] ?? "", "base64").toString();
  }

  /** Changes a key of the Secret as somebody might by mistake; undefined takes it away. */
  damage(key: string, text?: string): void {
    const secret = this.spoke.read(Secret, AGENT_SECRET);
    if (!secret) throw new Error("there is no Secret");
    const { [key]: _, ...data } = secret.data ?? {};
    if (text !== undefined) data[key] = Buffer.from(text).toString("base64");
    this.spoke.put(Secret, { ...secret, data });
  }

  /** Waits for what must come without the clock. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    for (let turn = 0; !isSo(); turn++) {
      if (turn > 5_000) throw new Error(`it never came: ${what}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Waits for what comes when time goes by in steps. */
  async untilLater(what: string, stepMs: number, isSo: () => boolean): Promise<void> {
    for (let step = 0; !isSo(); step++) {
      if (step > 200) throw new Error(`it never came: ${what}`);
      this.clock.advance(stepMs);
      await this.settle();
    }
  }

  /** Gives what must not happen the chance to happen. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** From nothing to beating. */
  async join(): Promise<void> {
    await this.until("a request", () => this.requests().some(({ status }) => !status));
    const before = this.connections.length;
    this.sign();
    await this.until("an identity", () => this.connections.length > before);
    this.accept();
    await this.until("a beat", () => this.beat() !== undefined);
  }
}
