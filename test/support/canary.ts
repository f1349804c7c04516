/**
 * Knows the secrets that were made during a test, and looks for them in everything that was written: log lines, events,
 * conditions, errors, what commands print.
 */
import { Deployment } from "#api/apps";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Event as CoreEvent, Pod, Secret } from "#api/core";
import { Event } from "#api/events";
import { ClusterProfile } from "#api/inventory";
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { ClusterManager, Klusterlet } from "#api/operator";
import { ClusterRole } from "#api/rbac";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { type Client, isNotFound, KubeconfigError, type Material, parseKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger, type Logger } from "#lib/log";

/** Where people and programs look when something is wrong. */
const TELLING = [
  ...[CoreEvent, Event, ConfigMap, Pod, Deployment, Lease, ClusterRole, CertificateSigningRequest],
  ...[ManagedCluster, ClusterProfile, ManifestWork, AppliedManifestWork, ClusterManager, Klusterlet],
];

/** Parts of Secrets that everybody may know. */
const PUBLIC = new Set(["tls.crt", "ca.crt", "ca-bundle.crt", "cluster-name", "agent-name", "namespace", "token-id"]);

/** Shorter pieces are found by chance. */
const SHORTEST = 16;

export class Canary {
  readonly #secrets = new Map<string, string>();
  readonly #heard: { readonly where: string; readonly text: string }[] = [];

  /** A logger whose every line, down to the smallest, is looked at in the end. */
  log(where: string): Logger {
    const write = (line: string) => this.hear(where, line);
    return createLogger({ level: "debug", format: "json", clock: systemClock, write });
  }

  /** Something that was written. */
  hear(where: string, text: string): void {
    this.#heard.push({ where, text });
  }

  /** Something that nobody may write; of a key in PEM also each of its lines. */
  learn(what: string, secret: string): void {
    const lines = secret.includes("-----BEGIN")
      ? secret.split("\n").filter((line) => !line.startsWith("---"))
      : [secret];
    const forms = [...lines, Buffer.from(secret, "utf8").toString("base64")];
    for (const form of forms) if (form.length >= SHORTEST) this.#secrets.set(form, what);
  }

  /** The credentials in a kubeconfig. */
  learnKubeconfig(what: string, text: string): void {
    try {
      for (const { token, key } of parseKubeconfig(text, what).users) {
        if (token !== undefined) this.learn(`the token in ${what}`, token);
        const pem = pemOf(key);
        if (pem !== undefined) this.learn(`the key in ${what}`, pem);
      }
    } catch (error) {
      if (!(error instanceof KubeconfigError)) throw error;
    }
  }

  /** All that lies in the Secrets of a cluster. */
  async learnFrom(name: string, client: Client): Promise<void> {
    for (const secret of (await client.list(Secret)).items) {
      for (const [key, value] of Object.entries(secret.data ?? {})) {
        const what = `${key} of Secret ${keyOf(secret)} on ${name}`;
        const text = Buffer.from(value, "base64").toString("utf8");
        if (key === "kubeconfig") this.learnKubeconfig(what, text);
        else if (!PUBLIC.has(key)) this.learn(what, text);
      }
    }
  }

  /** Hears what the objects of a cluster tell, but for its Secrets. */
  async lookAt(name: string, client: Client): Promise<void> {
    for (const kind of TELLING as readonly Kind<KubeObject>[]) {
      const { items } = await client.list(kind).catch((error: unknown) => {
        if (isNotFound(error)) return { items: [] };
        throw error;
      });
      for (const item of items) this.hear(`${kind.kind} ${keyOf(item)} on ${name}`, JSON.stringify(item));
    }
  }

  /** Who told what, in words; nobody, if all is well. */
  leaks(): string[] {
    const found = this.#heard.flatMap(({ where, text }) =>
      [...this.#secrets].filter(([secret]) => text.includes(secret)).map(([, what]) => `${where} tells ${what}`),
    );
    return [...new Set(found)];
  }

  /** How much was looked at and for how much, so that a test can tell that it looked at something. */
  get effort(): { readonly heard: number; readonly secrets: number } {
    return { heard: this.#heard.length, secrets: this.#secrets.size };
  }
}

function pemOf(material: Material | undefined): string | undefined {
  return material && "pem" in material ? material.pem : undefined;
}
