/** Kinds by the names that manifests use, learned from the server one group and version at a time. */
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { isObject, parseJson } from "#lib/json";
import { isNotFound, KubeError } from "../errors.ts";
import type { CallOptions, Client } from "../types.ts";
import { groupVersionOf } from "./identity.ts";

/** What a group and version serves, by kind. */
type Served = ReadonlyMap<string, Kind>;

export class Kinds {
  readonly #client: Pick<Client, "raw">;
  readonly #served = new Map<string, Served>();
  readonly #asking = new Map<string, Promise<Served>>();

  constructor(client: Pick<Client, "raw">) {
    this.#client = client;
  }

  /** The kind, if it is known already; nothing is asked. */
  known({ apiVersion, kind: name }: Pick<DynamicObject, "apiVersion" | "kind">): Kind | undefined {
    return this.#served.get(apiVersion)?.get(name);
  }

  /** Where objects of this apiVersion and kind are; undefined if the server has none. A known kind is not asked for again. */
  async find(object: Pick<DynamicObject, "apiVersion" | "kind">, options: CallOptions = {}): Promise<Kind | undefined> {
    const known = this.known(object);
    if (known) return known;
    // Whatever is missing may have come since the last look.
    return (await this.#ask(object.apiVersion, options)).get(object.kind);
  }

  /** The same in whatever version the server has: a version that was recorded once may be gone. */
  async findAny(
    { group, version, kind: name }: { group: string; version: string; kind: string },
    options: CallOptions = {},
  ): Promise<Kind | undefined> {
    const apiVersion = (each: string) => (group === "" ? each : `${group}/${each}`);
    const found = await this.find({ apiVersion: apiVersion(version), kind: name }, options);
    if (found || group === "") return found;
    for (const other of await this.#versionsOf(group, options)) {
      const elsewhere =
        other === version ? undefined : await this.find({ apiVersion: apiVersion(other), kind: name }, options);
      if (elsewhere) return elsewhere;
    }
    return undefined;
  }

  /** The kind under a plural, in whatever version the server has: how records of applied objects name it. */
  async findResource(
    { group, version, resource }: { group: string; version: string; resource: string },
    options: CallOptions = {},
  ): Promise<Kind | undefined> {
    const found = await this.#findPlural(group, version, resource, options);
    if (found || group === "") return found;
    for (const other of await this.#versionsOf(group, options)) {
      const elsewhere = other === version ? undefined : await this.#findPlural(group, other, resource, options);
      if (elsewhere) return elsewhere;
    }
    return undefined;
  }

  async #findPlural(group: string, version: string, resource: string, options: CallOptions): Promise<Kind | undefined> {
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const among = (served: Served | undefined) =>
      [...(served?.values() ?? [])].find(({ plural }) => plural === resource);
    return among(this.#served.get(apiVersion)) ?? among(await this.#ask(apiVersion, options));
  }

  async #versionsOf(group: string, options: CallOptions): Promise<string[]> {
    const answer = await this.#read(`/apis/${segment(group)}`, options);
    const value = answer === undefined ? undefined : parsed(answer);
    const versions = isObject(value) && Array.isArray(value.versions) ? value.versions : [];
    return versions.flatMap((each) => (isObject(each) && typeof each.version === "string" ? [each.version] : []));
  }

  /** Looks anew, because a call found that the kind has gone. */
  forget(apiVersion: string): void {
    this.#served.delete(apiVersion);
  }

  /** Many ask at once; one question is enough. */
  #ask(apiVersion: string, options: CallOptions): Promise<Served> {
    const asking =
      this.#asking.get(apiVersion) ??
      this.#discover(apiVersion, options).finally(() => this.#asking.delete(apiVersion));
    this.#asking.set(apiVersion, asking);
    return asking;
  }

  async #discover(apiVersion: string, options: CallOptions): Promise<Served> {
    const { group, version } = groupVersionOf(apiVersion);
    const path = group === "" ? `/api/${segment(version)}` : `/apis/${segment(group)}/${segment(version)}`;
    const text = await this.#read(path, options);
    if (text === undefined) {
      this.#served.delete(apiVersion);
      return new Map();
    }
    const served = servedIn(text, group, version);
    this.#served.set(apiVersion, served);
    return served;
  }

  /** The text at a path; undefined where the server has none. */
  async #read(path: string, options: CallOptions): Promise<string | undefined> {
    try {
      return await this.#client.raw(path, options);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

function segment(part: string): string {
  return encodeURIComponent(part);
}

function servedIn(text: string, group: string, version: string): Served {
  const list = parsed(text);
  const resources = isObject(list) && Array.isArray(list.resources) ? list.resources : undefined;
  if (!resources) throw new KubeError("malformed", `the server does not say what ${group || "core"}/${version} has`);
  const served = new Map<string, Kind>();
  for (const resource of resources) {
    if (!isObject(resource)) continue;
    const { name, kind: kindName, namespaced } = resource;
    // A name with a slash is a part of an object; what cannot be read is a review, not an object.
    if (typeof name !== "string" || name.includes("/") || typeof kindName !== "string") continue;
    if (Array.isArray(resource.verbs) && !resource.verbs.includes("get")) continue;
    if (!served.has(kindName)) {
      served.set(kindName, kind({ group, version, kind: kindName, plural: name, namespaced: namespaced === true }));
    }
  }
  return served;
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
