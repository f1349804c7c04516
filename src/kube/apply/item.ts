/** One wish on its way through a run. */
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { isObject } from "#lib/json";
import { groupKindOf, identityOf, idOf, keyOfId, type ObjectId } from "./identity.ts";
import type { OwnerPolicy, Strategy } from "./types.ts";
import { conversionService, groupVersionBrought, isWebhookConfiguration, judges, type ServiceRef } from "./webhooks.ts";

export interface Item {
  readonly index: number;
  readonly object: DynamicObject;
  readonly strategy: Strategy;
  readonly owner: OwnerPolicy | undefined;
  readonly source: string | undefined;
  readonly id: ObjectId;
  /** Where it is served, or will be once its definition is in; undefined while nobody knows. */
  readonly kind: Kind | undefined;
}

const DEFINITION = "CustomResourceDefinition.apiextensions.k8s.io";

/** Which items of a set stand on which others. */
export class Relations {
  readonly #namespaces = new Map<string, Item>();
  readonly #definitions = new Map<string, Item>();
  readonly #providers = new Map<string, Item>();
  readonly #services = new Map<string, Item>();
  readonly #configurations: Item[] = [];

  constructor(items: readonly Item[]) {
    for (const item of items) {
      const groupKind = groupKindOf(item.id);
      const brought = groupVersionBrought(item.object);
      if (groupKind === "Namespace") this.#namespaces.set(item.id.name, item);
      else if (groupKind === "Service") this.#services.set(keyOfId(item.id), item);
      else if (groupKind === DEFINITION) for (const id of kindsDefined(item.object)) this.#definitions.set(id, item);
      else if (brought !== undefined) this.#providers.set(brought, item);
      else if (isWebhookConfiguration(item.object)) this.#configurations.push(item);
    }
  }

  /** The Namespace that it lies in, where the set brings it. */
  namespaceOf({ id }: Item): Item | undefined {
    return id.namespace === undefined ? undefined : this.#namespaces.get(id.namespace);
  }

  /** The CustomResourceDefinition of its kind, where the set brings it. */
  definitionOf({ object }: Pick<Item, "object">): Item | undefined {
    return this.#definitions.get(`${object.apiVersion} ${object.kind}`);
  }

  /** The APIService of its kind, where the set brings it. */
  providerOf({ object }: Pick<Item, "object">): Item | undefined {
    return this.#providers.get(object.apiVersion);
  }

  /** The Service, where the set brings it. */
  serviceOf({ namespace, name }: ServiceRef): Item | undefined {
    return this.#services.get(`${namespace}/${name}`);
  }

  /** The webhook configurations of the set that will judge it. */
  guardsOf({ kind: where }: Item): readonly Item[] {
    return where ? this.#configurations.filter(({ object }) => judges(object, where)) : [];
  }

  /** The Services of the set's definitions that convert it. */
  convertersOf(item: Item): readonly ServiceRef[] {
    const definition = this.definitionOf(item);
    return definition ? conversionService(definition.object) : [];
  }
}

/** Where objects will be served once their definition is in. */
export function kindFromDefinition(definition: DynamicObject, version: string): Kind | undefined {
  const { spec } = definition;
  if (!isObject(spec) || !isObject(spec.names)) return undefined;
  const { group, scope } = spec;
  const { kind: name, plural } = spec.names;
  if (typeof group !== "string" || typeof name !== "string" || typeof plural !== "string") return undefined;
  return kind({ group, version, kind: name, plural, namespaced: scope === "Namespaced" });
}

/** `group/version Kind`, for each version that is served. */
function kindsDefined(definition: DynamicObject): string[] {
  const { spec } = definition;
  if (!isObject(spec) || !isObject(spec.names) || !Array.isArray(spec.versions)) return [];
  const { group, names } = spec;
  const served = spec.versions.filter(isObject).filter((version) => version.served);
  return served.map(({ name }) => `${String(group)}/${String(name)} ${String(names.kind)}`);
}

export function itemIdentity({ id }: Pick<Item, "id">): string {
  return identityOf(id);
}

/** The id of an object of this kind, with the namespace that it will be in. */
export function idIn(object: DynamicObject, where: Kind | undefined, defaultNamespace: string): ObjectId {
  const { namespace, ...id } = idOf(object);
  if (where && !where.namespaced) return id;
  const place = namespace ?? (where ? defaultNamespace : undefined);
  return place === undefined ? id : { ...id, namespace: place };
}
