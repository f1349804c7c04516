/** The resources that one cluster serves: the built-in ones, and those of its CustomResourceDefinitions. */
import type { DynamicObject } from "#api/meta";
import { customResources } from "./crd/index.ts";
import type { Catalog, Resource } from "./resource.ts";
import type { Store } from "./store/index.ts";

export const DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions";

export class LiveCatalog implements Catalog {
  readonly #builtin: readonly Resource[];
  readonly #custom = new Map<string, readonly Resource[]>();
  #byPath = new Map<string, Resource>();
  #resources: readonly Resource[] = [];
  #generation = 0;

  constructor(builtin: readonly Resource[]) {
    this.#builtin = builtin;
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

  /** Any version of what is kept under this name. */
  byStorage(storage: string): Resource | undefined {
    return this.#resources.find((resource) => resource.storage === storage && !resource.answer);
  }

  /** Serves the definitions in the store from now on, as they come, change and go. The answer ends it. */
  follow(store: Store): () => void {
    for (const definition of store.list(DEFINITIONS).items)
      this.#custom.set(definition.metadata.name, servedBy(definition));
    this.#rebuild();
    return store.subscribe(({ resource, type, key, object }) => {
      if (resource !== DEFINITIONS) return;
      if (type === "DELETED") this.#custom.delete(key);
      else this.#custom.set(key, servedBy(object));
      this.#rebuild();
    });
  }

  #rebuild(): void {
    this.#resources = [...this.#builtin, ...[...this.#custom.values()].flat()];
    this.#byPath = new Map(
      this.#resources.map((resource) => [`${resource.group}/${resource.version}/${resource.plural}`, resource]),
    );
    this.#generation++;
  }
}

/** A definition whose names were not accepted serves nothing. */
function servedBy(definition: DynamicObject): readonly Resource[] {
  const { conditions = [] } = (definition.status ?? {}) as { conditions?: { type: string; status: string }[] };
  const isEstablished = conditions.some(({ type, status }) => type === "Established" && status === "True");
  return isEstablished ? customResources(definition as never) : [];
}
