/** The resources that one cluster serves: the built-in ones, and those of its CustomResourceDefinitions. */
import type { CustomResourceDefinition } from "#api/apiextensions";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { type Converter, customResources } from "./crd/index.ts";
import type { Catalog, Resource } from "./resource.ts";
import type { Store } from "./store/index.ts";

export const DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions";

export interface CatalogOptions {
  /** Who converts between the versions of a definition, where they differ in more than their name. */
  readonly converterFor?: (definition: CustomResourceDefinition) => Converter | undefined;
}

export class LiveCatalog implements Catalog {
  readonly #builtin: readonly Resource[];
  readonly #options: CatalogOptions;
  readonly #custom = new Map<string, readonly Resource[]>();
  #byPath = new Map<string, Resource>();
  #resources: readonly Resource[] = [];
  #generation = 0;

  constructor(builtin: readonly Resource[], options: CatalogOptions = {}) {
    this.#builtin = builtin;
    this.#options = options;
    this.#rebuild();
  }

  get resources(): readonly Resource[] {
    return this.#resources;
  }

  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string, plural: string): Resource | undefined {
    return this.#byPath.get(`${group}/${version}/${plural}`);
  }

  /** What is kept under this name, in the version that it is kept in, or else in any. */
  byStorage(storage: string): Resource | undefined {
    const found = this.#resources.filter((resource) => resource.storage === storage && !resource.answer);
    return found.find((resource) => resource.storedAs === apiVersionOf(resource)) ?? found[0];
  }

  /** Serves the definitions in the store from now on, as they come, change and go. The answer ends it. */
  follow(store: Store): () => void {
    for (const definition of store.list(DEFINITIONS).items)
      this.#custom.set(definition.metadata.name, this.#servedBy(definition));
    this.#rebuild();
    return store.subscribe(({ resource, type, key, object }) => {
      if (resource !== DEFINITIONS) return;
      if (type === "DELETED") this.#custom.delete(key);
      else this.#custom.set(key, this.#servedBy(object));
      this.#rebuild();
    });
  }

  /** A definition whose names were not accepted serves nothing. */
  #servedBy(object: DynamicObject): readonly Resource[] {
    const definition = object as unknown as CustomResourceDefinition;
    const { conditions = [] } = definition.status ?? {};
    const isEstablished = conditions.some(({ type, status }) => type === "Established" && status === "True");
    return isEstablished ? customResources(definition, { converter: this.#options.converterFor?.(definition) }) : [];
  }

  #rebuild(): void {
    this.#resources = [...this.#builtin, ...[...this.#custom.values()].flat()];
    this.#byPath = new Map(
      this.#resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
    );
    this.#generation++;
  }
}
