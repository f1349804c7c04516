/** Follows what can be seen of a fleet while its certificates rotate: beats, conditions, identities, requests. */
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Secret } from "#api/core";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { parseCertificate } from "#lib/pki";
import { connectedCluster } from "#runtime";
import type { Ground } from "./ground.ts";

const HUB_SECRET = "hub-kubeconfig-secret";

/** One certificate, as it lay in the Secret. */
export interface Kept {
  readonly serial: string;
  readonly notAfter: number;
  /** When it was seen there first. */
  readonly since: number;
}

/** All that was seen of one cluster. */
export interface Course {
  readonly beats: number[];
  /** What was said of its availability, one after the other, without repetition. */
  readonly available: string[];
  readonly identities: Kept[];
}

export class Observer {
  readonly #stop = new AbortController();
  readonly #courses = new Map<string, Course>();
  /** All that there ever were, as they were last: a hub forgets those whose certificates have ended. */
  readonly #requests = new Map<string, CertificateSigningRequest>();

  constructor({ hub, spoke }: Ground) {
    const parts = { clock: systemClock, log: silentLog };
    const [onHub, onSpoke] = [
      connectedCluster({ name: "hub", client: hub.client, ...parts }),
      connectedCluster({ name: "spoke", client: spoke.client, ...parts }),
    ];
    const leases = onHub.cache(Lease, { fieldSelector: "metadata.name=managed-cluster-lease" });
    const clusters = onHub.cache(ManagedCluster);
    const secrets = onSpoke.cache(Secret, { fieldSelector: `metadata.name=${HUB_SECRET}` });
    const requests = onHub.cache(CertificateSigningRequest);
    requests.onChange((_, request) => {
      if (request) this.#requests.set(request.metadata.name, request);
    });
    leases.onChange((_, lease) => {
      const at = Date.parse(lease?.spec?.renewTime ?? "");
      const { beats } = this.of(lease?.metadata.namespace ?? "");
      if (!Number.isNaN(at) && beats.at(-1) !== at) beats.push(at);
    });
    clusters.onChange((_, cluster) => {
      const said = findCondition(cluster?.status?.conditions, ClusterCondition.Available)?.status;
      const { available } = this.of(cluster?.metadata.name ?? "");
      if (said !== undefined && available.at(-1) !== said) available.push(said);
    });
    secrets.onChange((_, secret) => {
      const text = (key: string) => Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
      if (text("tls.crt") === "") return;
      const { serial, notAfter } = parseCertificate(text("tls.crt"));
      const { identities } = this.of(text("cluster-name"));
      if (identities.at(-1)?.serial === serial) return;
      identities.push({ serial, notAfter: notAfter.getTime(), since: Date.now() });
    });
    for (const cache of [leases, clusters, secrets, requests]) cache.start(this.#stop.signal);
  }

  of(cluster: string): Course {
    const course = this.#courses.get(cluster) ?? { beats: [], available: [], identities: [] };
    this.#courses.set(cluster, course);
    return course;
  }

  requestsOf(cluster: string): CertificateSigningRequest[] {
    return [...this.#requests.values()].filter(
      ({ metadata }) => metadata.labels?.["open-cluster-management.io/cluster-name"] === cluster,
    );
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** The longest time between two beats, in milliseconds. */
export function longestGap(beats: readonly number[]): number {
  return Math.max(0, ...beats.slice(1).map((beat, at) => beat - (beats[at] ?? beat)));
}
