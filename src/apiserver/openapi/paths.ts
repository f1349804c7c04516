/** The operations of one group version, by path. */
import type { GroupVersionKind, Resource, Subresource } from "../resource.ts";
import { refTo } from "./names.ts";
import * as parameters from "./parameters.ts";
import { gvkOf, type Schemas } from "./schemas.ts";

type Item = Record<string, unknown>;

/** Custom resources have no Go type, hence no strategic merge and no protobuf. */
const PATCHES = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
const STRATEGIC = "application/strategic-merge-patch+json";
const CUSTOM_BODIES = ["application/json", "application/yaml"];
const CUSTOM_ANSWERS = ["application/json", "application/yaml"];
const BUILTIN_ANSWERS = [...CUSTOM_ANSWERS, "application/vnd.kubernetes.protobuf"];

export function pathsOf(resources: readonly Resource[], schemas: Schemas): Record<string, Item> {
  const paths: Record<string, Item> = {};
  for (const resource of resources) Object.assign(paths, new ResourcePaths(resource, schemas).all());
  return Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1)));
}

class ResourcePaths {
  readonly #resource: Resource;
  readonly #schemas: Schemas;
  readonly #collection: string;
  readonly #everywhere: string;

  constructor(resource: Resource, schemas: Schemas) {
    const { group, version, plural, namespaced } = resource;
    const base = group ? `/apis/${group}/${version}` : `/api/${version}`;
    this.#resource = resource;
    this.#schemas = schemas;
    this.#everywhere = `${base}/${plural}`;
    this.#collection = namespaced ? `${base}/namespaces/{namespace}/${plural}` : this.#everywhere;
  }

  all(): Record<string, Item> {
    const { namespaced, subresources } = this.#resource;
    const paths: Record<string, Item> = {
      [this.#collection]: this.#collectionItem(),
      [`${this.#collection}/{name}`]: this.#objectItem(),
    };
    if (namespaced && this.#can("list")) {
      paths[this.#everywhere] = { get: this.#list("ForAllNamespaces"), parameters: [parameters.pretty] };
    }
    // What is no object has no schema either: streams are left out.
    for (const subresource of subresources.filter(({ connect }) => !connect)) {
      paths[`${this.#collection}/{name}/${subresource.name}`] = this.#subresourceItem(subresource);
    }
    return Object.fromEntries(Object.entries(paths).filter(([, item]) => Object.keys(item).length > 1));
  }

  #collectionItem(): Item {
    const object = this.#schemas.object(this.#resource);
    return {
      ...(this.#can("list") && { get: this.#list("") }),
      ...(this.#can("create") && {
        post: this.#operation("create", "post", "", {
          parameters: parameters.writing,
          requestBody: this.#body(object),
          responses: this.#responses(object, 200, 201, 202),
        }),
      }),
      ...(this.#can("deletecollection") && {
        delete: this.#operation("deleteCollection", "deletecollection", "", {
          parameters: parameters.deletingCollection,
          requestBody: this.#body(this.#schemas.type("meta/v1#DeleteOptions"), false),
          responses: this.#responses(this.#schemas.type("meta/v1#Status"), 200),
        }),
      }),
      parameters: this.#pathParameters(false),
    };
  }

  #objectItem(): Item {
    const object = this.#schemas.object(this.#resource);
    return {
      ...this.#reading(this.#resource.verbs, object, gvkOf(this.#resource), ""),
      ...(this.#can("delete") && {
        delete: this.#operation("delete", "delete", "", {
          parameters: parameters.deleting,
          requestBody: this.#body(this.#schemas.type("meta/v1#DeleteOptions"), false),
          responses: this.#responses(this.#schemas.type("meta/v1#Status"), 200, 202),
        }),
      }),
      parameters: this.#pathParameters(true),
    };
  }

  #subresourceItem({ name, responseKind, verbs }: Subresource): Item {
    const object = this.#schemas.kind(responseKind, this.#resource);
    const suffix = capitalized(name);
    return {
      ...this.#reading(verbs, object, gvkOf(responseKind), suffix),
      ...(verbs.includes("create") && {
        post: this.#operation("create", "post", suffix, {
          kind: gvkOf(responseKind),
          parameters: parameters.writing,
          requestBody: this.#body(object),
          responses: this.#responses(object, 200, 201, 202),
        }),
      }),
      parameters: this.#pathParameters(true),
    };
  }

  /** What objects and their subresources have in common: get, put, patch. */
  #reading(verbs: readonly string[], object: string, kind: GroupVersionKind, suffix: string): Item {
    return {
      ...(verbs.includes("get") && {
        get: this.#operation("read", "get", suffix, { kind, responses: this.#responses(object, 200) }),
      }),
      ...(verbs.includes("update") && {
        put: this.#operation("replace", "put", suffix, {
          kind,
          parameters: parameters.writing,
          requestBody: this.#body(object),
          responses: this.#responses(object, 200, 201),
        }),
      }),
      ...(verbs.includes("patch") && {
        patch: this.#operation("patch", "patch", suffix, {
          kind,
          parameters: parameters.patching,
          requestBody: {
            content: content(this.#resource.builtin ? [...PATCHES, STRATEGIC] : PATCHES, this.#schemas.patch()),
            required: true,
          },
          responses: this.#responses(object, 200, 201),
        }),
      }),
    };
  }

  #list(suffix: string): Item {
    return this.#operation("list", "list", suffix, {
      parameters: parameters.listing,
      responses: this.#responses(this.#schemas.list(this.#resource), 200),
    });
  }

  #operation(verb: string, action: string, suffix: string, { kind, ...rest }: Item): Item {
    const { group, version, namespaced } = this.#resource;
    const owner = group ? (group.split(".")[0] ?? group) : "core";
    const scope = namespaced && suffix !== "ForAllNamespaces" ? "Namespaced" : "";
    const id = `${verb}${[owner, version].map(capitalized).join("")}${scope}${this.#resource.kind}${suffix}`;
    return {
      tags: [`${group ? owner : "core"}_${version}`],
      operationId: id,
      ...rest,
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": kind ?? gvkOf(this.#resource),
    };
  }

  #body(schema: string, required = true): Item {
    const types = this.#resource.builtin ? ["*/*"] : CUSTOM_BODIES;
    return { content: content(types, schema), ...(required && { required: true }) };
  }

  #responses(schema: string, ...codes: number[]): Item {
    const types = this.#resource.builtin ? BUILTIN_ANSWERS : CUSTOM_ANSWERS;
    const answers = codes.map((code) => [code, { description: TEXT.get(code), content: content(types, schema) }]);
    return Object.fromEntries([...answers, [401, { description: TEXT.get(401) }]]);
  }

  #pathParameters(named: boolean): parameters.Parameter[] {
    return [
      ...(named ? [parameters.pathParameters.name] : []),
      ...(this.#resource.namespaced ? [parameters.pathParameters.namespace] : []),
      parameters.pretty,
    ];
  }

  #can(verb: Resource["verbs"][number]): boolean {
    return this.#resource.verbs.includes(verb);
  }
}

const TEXT = new Map([
  [200, "OK"],
  [201, "Created"],
  [202, "Accepted"],
  [401, "Unauthorized"],
]);

function content(types: readonly string[], schema: string): Item {
  return Object.fromEntries(types.map((type) => [type, { schema: refTo(schema) }]));
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
