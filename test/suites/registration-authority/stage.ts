/** A hub whose serving authority changes, and clusters whose agents live with it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Secret } from "#api/core";
import { appliedManifestWorkCrd, manifestWorkCrd } from "#api/work";
import { runRegistration } from "#app";
import { kubeconfigText, parseKubeconfig, writeKubeconfig } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { type CertificateAuthority, parseCertificates } from "#lib/pki";
import { connectedCluster } from "#runtime";
import { type Ended, run } from "../../support/command.ts";
import { installDefinitions } from "../../support/prepared.ts";
import { newAuthority, type RenewableServer, type StartRenewable } from "../../support/renewable-servers.ts";
import type { StartServer } from "../../support/servers.ts";
import { FaultStage } from "../registration-faults/stage.ts";

/** Where a Klusterlet would have its agents, so that the commands find them. */
export const AGENTS = "open-cluster-management-agent";

/** A clock on which what is due in half an hour or later is due at once: agents look at authorities once an hour. */
export const hastyClock: Clock = {
  now: () => systemClock.now(),
  after: (ms, task) => systemClock.after(ms >= 1_800_000 ? 300 : ms, task),
};

export interface Identity {
  readonly uid: string | undefined;
  readonly agentName: string;
}

export class AuthorityStage {
  readonly faults: FaultStage;
  readonly hub: RenewableServer;
  /** Those that come after the hub's first. */
  readonly second: CertificateAuthority;
  readonly third: CertificateAuthority;
  readonly #dir: string;
  readonly #stops: (() => Promise<unknown>)[] = [];

  private constructor(faults: FaultStage, hub: RenewableServer, later: CertificateAuthority[], dir: string) {
    const [second, third] = later;
    if (!second || !third) throw new Error("two more authorities are needed");
    this.faults = faults;
    this.hub = hub;
    this.second = second;
    this.third = third;
    this.#dir = dir;
  }

  static async open(startHub: StartRenewable, startSpoke: StartServer, signingSeconds = 3600): Promise<AuthorityStage> {
    const later = [newAuthority("second"), newAuthority("third")];
    const trusted = later.map(({ certificate }) => certificate).join("");
    let hub: RenewableServer | undefined;
    const faults = await FaultStage.open(async (name, options) => {
      if (name !== "hub") return startSpoke(name, options);
      hub = await startHub(name, { trusted, signingSeconds });
      return hub;
    });
    if (!hub) throw new Error("there is no hub");
    const dir = await mkdtemp(join(tmpdir(), "capstan-authority-"));
    const stage = new AuthorityStage(faults, hub, later, dir);
    await installDefinitions(hub.client, [manifestWorkCrd]);
    await installDefinitions(faults.spoke.client, [appliedManifestWorkCrd]);
    await writeKubeconfig(stage.hubFile, hub.kubeconfig);
    await writeKubeconfig(stage.spokeFile, faults.spoke.kubeconfig);
    return stage;
  }

  async close(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
    await this.faults.close();
    await rm(this.#dir, { recursive: true, force: true });
  }

  get hubFile(): string {
    return this.file("hub.kubeconfig");
  }

  get spokeFile(): string {
    return this.file("spoke.kubeconfig");
  }

  file(name: string): string {
    return join(this.#dir, name);
  }

  /** A command of the administrator of hub and spoke; what it says is listened to. */
  async command(...words: string[]): Promise<Ended> {
    const ended = await run(...words);
    this.faults.canary.hear(`capstan ${words[0]}`, ended.stdout + ended.stderr);
    return ended;
  }

  rejoin(cluster: string, ...flags: string[]): Promise<Ended> {
    const place = ["--kubeconfig", this.spokeFile, "--hub-kubeconfig", this.hubFile];
    return this.command("rejoin", "--cluster-name", cluster, ...place, ...flags);
  }

  onStop(stop: () => Promise<unknown>): void {
    this.#stops.unshift(stop);
  }

  /** Lets a cluster in, and has it beat often, so that losses show soon. */
  async admitBeating(name: string): Promise<void> {
    await this.faults.admit(name);
    await this.hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: 1 } });
    await this.faults.untilWorking(name);
  }

  /** An agent that reads its bootstrap kubeconfig in a Secret, as those of a Klusterlet do. */
  async startWithSecret(clusterName: string, clock: Clock): Promise<{ readonly lines: string[] }> {
    const { spoke, canary } = this.faults;
    const lines: string[] = [];
    const log = canary.log(`the agent of ${clusterName}`);
    const data = { kubeconfig: Buffer.from(kubeconfigText(await this.faults.bootstrap())).toString("base64") };
    await spoke.client.create(Secret, { metadata: { name: "bootstrap-hub-kubeconfig", namespace: AGENTS }, data });
    const stopping = new AbortController();
    const secrets = connectedCluster({ name: "spoke", client: spoke.client, clock: systemClock, log }).cache(Secret, {
      namespace: AGENTS,
      fieldSelector: "metadata.name=bootstrap-hub-kubeconfig",
    });
    const ended = runRegistration({
      clusterName,
      spoke: spoke.client,
      namespace: AGENTS,
      endpoints: [],
      bootstrap: (tell) => {
        secrets.start(stopping.signal);
        return secrets.onChange((_, secret) =>
          tell(secret && Buffer.from(secret.data?.kubeconfig ?? "", "base64").toString("utf8")),
        );
      },
      clock,
      log: {
        ...log,
        warn(message, fields) {
          lines.push([message, ...Object.values(fields ?? {}).map(wordsOf)].join(" "));
          log.warn(message, fields);
        },
      },
      signal: stopping.signal,
    });
    this.onStop(() => {
      stopping.abort();
      return ended;
    });
    return { lines };
  }

  async identity(cluster: string, namespace: string): Promise<Identity> {
    const { metadata } = await this.hub.client.get(ManagedCluster, cluster);
    return { uid: metadata.uid, agentName: await this.stored(namespace, "agent-name") };
  }

  async stored(namespace: string, key: string): Promise<string> {
    const { data } = await this.faults.spoke.client.get(Secret, `${namespace}/hub-kubeconfig-secret`);
    return Buffer.from(data?.[key] ?? "", "base64").toString("utf8");
  }

  /** Whom the agent's kubeconfig trusts now. */
  async expectTrust(namespace: string, authorities: readonly CertificateAuthority[]): Promise<void> {
    const [cluster] = parseKubeconfig(await this.stored(namespace, "kubeconfig"), "the Secret").clusters;
    const pem = cluster?.ca && "pem" in cluster.ca ? cluster.ca.pem : "";
    const serials = (text: string) => parseCertificates(text).map(({ serial }) => serial);
    expect(serials(pem).sort()).toEqual(authorities.flatMap(({ certificate }) => serials(certificate)).sort());
  }
}

function wordsOf(value: unknown): string {
  return value instanceof Error ? value.message : String(value);
}
