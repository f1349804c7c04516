/** The sites of all objects of an operator, by the key of the object and the name of the cluster. */
import type { Kind, KubeObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import type { Cluster, Trigger } from "#runtime";
import { Site, type SiteOptions } from "./site.ts";

export interface SitesOptions {
  readonly clock: Clock;
  readonly fieldManager: string;
  /** The key of the label that everything carries; its value is the name of the object that it was made for. */
  readonly label: string;
  /** Of which kinds there may be objects; `SITE_KINDS` unless told. */
  readonly kinds?: readonly Kind<KubeObject>[];
  /** Of which kinds every change is worth a look; Deployments unless told. */
  readonly watched?: readonly Kind<KubeObject>[];
  /** What carries the label and is kept by somebody else. */
  readonly isSpared?: SiteOptions["isSpared"];
}

export class Sites {
  readonly #options: SitesOptions;
  readonly #sites = new Map<string, Map<string, Site>>();
  #enqueue: (key: string) => void = () => {};

  constructor(options: SitesOptions) {
    this.#options = options;
  }

  /** Asks for the object of whatever is not as it was left, and of what is watched when it fares otherwise. */
  readonly trigger: Trigger<string> = {
    subscribe: (enqueue) => {
      this.#enqueue = enqueue;
      return () => {
        this.#enqueue = () => {};
        for (const key of [...this.#sites.keys()]) this.leave(key);
      };
    },
  };

  /** The site of an object on a cluster. Another connection to a cluster of the same name is another site. */
  at(key: string, cluster: Cluster): Site {
    const sites = this.#sites.get(key) ?? new Map<string, Site>();
    this.#sites.set(key, sites);
    const known = sites.get(cluster.name);
    if (known?.cluster === cluster) return known;
    known?.close();
    const { clock, fieldManager, label, kinds, watched, isSpared } = this.#options;
    const onChange = () => this.#enqueue(key);
    const site = new Site({
      cluster,
      clock,
      fieldManager,
      label: { key: label, value: key },
      onChange,
      ...(kinds && { kinds }),
      ...(watched && { watched }),
      ...(isSpared && { isSpared }),
    });
    sites.set(cluster.name, site);
    return site;
  }

  /** Lets go of what is kept in memory of an object, on one cluster or on all. */
  leave(key: string, cluster?: string): void {
    const sites = this.#sites.get(key);
    for (const [name, site] of [...(sites ?? [])]) {
      if (cluster !== undefined && name !== cluster) continue;
      site.close();
      sites?.delete(name);
    }
    if (sites?.size === 0) this.#sites.delete(key);
  }
}
