/**
 * What the server serves: the contract between the verbs (registry), the built-in kinds (kinds), the kinds
 * that CustomResourceDefinitions bring (crd), discovery, OpenAPI and tables. The verbs know nothing of any
 * particular kind; all that is particular lies behind `Strategy`, `Subresource` and `Answer`.
 */
import type { DynamicObject } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import type { Versions } from "./apply/index.ts";
import type { FieldError } from "./errors.ts";

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";

/** One resource in one version, as a URL names it. */
export interface Resource extends GroupVersionKind {
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  /** Where its objects are kept; all versions of a resource share it. */
  readonly storage: string;
  /** Built-in kinds have protobuf and leave out kind and apiVersion inside lists; custom ones do not. */
  readonly builtin: boolean;
  readonly strategy: Strategy;
  readonly subresources: readonly Subresource[];
  readonly table: TableLayout;
  /** Set for kinds that are asked and not stored (reviews): POST is answered by it. */
  readonly answer?: Answer;
  /** Custom kinds: the schema that OpenAPI shows. Built-in kinds are described by the type table. */
  readonly schema?: OpenApiSchema;
  /** How its fields are owned and merged, by apiVersion; absent for kinds that are not stored. */
  readonly fields?: Versions;
  /** Custom kinds: the apiVersion that objects are written in, which may be that of another version. */
  readonly storedAs?: string;
  /** Custom kinds whose versions somebody outside converts: what leaves the store has to be waited for. */
  readonly conversion?: Conversion;
  /** A text for a Warning header on every request of this version. */
  readonly deprecation?: string;
}

/**
 * How objects come into a version and into the store, where a webhook knows the way. Drafts of such a kind stay in the
 * version of their request until they are stored.
 */
export interface Conversion {
  /**
   * Stored objects, of whatever version, as this one shows them. All that need it are sent in one call, and what came
   * back is remembered for as long as they are stored. Throws ApiError.
   */
  shown(stored: readonly DynamicObject[]): Promise<DynamicObject[]>;
  /** An object that is not stored, of whatever version, in this one. Throws ApiError. */
  toVersion(object: DynamicObject): Promise<DynamicObject>;
  /** An object of this version as it is stored. Throws ApiError. */
  toStorage(object: DynamicObject): Promise<DynamicObject>;
  /** Runs a task that looks at objects in several versions, as often as it takes until all of them are there. */
  settled<T>(task: () => T): Promise<T>;
  /** Why objects only change their apiVersion for now; undefined when they are converted. */
  notConverted(): string | undefined;
}

/** Who asks, and what the request says beside its body. */
export interface RequestContext {
  readonly user: UserInfo;
  readonly now: Date;
  readonly dryRun: boolean;
  readonly fieldManager: string;
  /** Fields that the body of the request has twice, in words. */
  readonly repeatedFields?: readonly string[];
  /** The options of the request as it names them, for those who are asked about it. */
  readonly options?: { readonly fieldManager?: string; readonly fieldValidation?: string };
  /** Adds a Warning header to the response. */
  warn(text: string): void;
  /** Adds a remark to the audit log, where there is one. */
  annotate?(key: string, value: string): void;
}

export interface UserInfo {
  readonly username: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/**
 * The particulars of a kind. Every function gets objects of its own to change (drafts), except where a
 * parameter is called `current`: that one is stored, and shared, and must be left alone.
 */
export interface Strategy {
  /** Whether the main endpoint leaves `status` alone and `/status` changes nothing else. */
  readonly hasStatus: boolean;
  readonly tracksGeneration: boolean;
  /** Whether a PUT without resourceVersion overwrites; otherwise it is refused. */
  readonly unconditionalUpdate: boolean;
  /** Whether a PUT to a missing object creates it. */
  readonly createOnUpdate: boolean;
  /** How names are checked: most kinds are DNS subdomains. */
  readonly nameRule: NameRule;
  /**
   * Turns a decoded body into an object of this kind: removes what the schema does not know, coerces, and
   * reports unknown fields by path. Throws ApiError 400 where a field has the wrong type.
   */
  decode(body: DynamicObject): { object: DynamicObject; unknownFields: string[] };
  /** Fills in defaults. Also run on objects as they leave the store, where `onRead` is set. */
  default(draft: DynamicObject): void;
  readonly defaultsOnRead: boolean;
  /** What the server itself adds to a new object before anybody outside is asked about it; done again leaves it as it is. */
  admit?(draft: DynamicObject): void;
  prepareForCreate(draft: DynamicObject, context: RequestContext): void;
  prepareForUpdate(draft: DynamicObject, current: DynamicObject, context: RequestContext): void;
  /** Runs once, when an object is marked as deleted and not gone at once. */
  prepareForDelete?(draft: DynamicObject): void;
  /** Seconds that a deleted object lives on, given how many the client asks for; none where absent. */
  graceFor?(current: DynamicObject, asked: number | undefined): number;
  /**
   * What becomes of an object's dependents when a deletion does not say; absent, they are deleted after it.
   * Those of `ignored` kinds are never looked for.
   */
  readonly dependents?: "orphaned" | "ignored";
  /** What a deletion is told that leaves it to the kind what becomes of dependents. */
  readonly orphanWarning?: string;
  /** Whether a deletion is answered with the object that is gone, and not with a Status. */
  readonly showsDeleted?: boolean;
  validateCreate(object: DynamicObject, context: RequestContext): FieldError[];
  validateUpdate(object: DynamicObject, current: DynamicObject, context: RequestContext): FieldError[];
  /** The object as this version shows it; kinds with one version return it as it is. */
  present(stored: DynamicObject): DynamicObject;
  /** Field selectors beside metadata.name and metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, (object: DynamicObject) => string>>;
}

export type NameRule = "subdomain" | "label" | "label1035" | "path-segment";

/** `/status`, `/scale`, `/approval`, `/finalize`, `/token` … */
export interface Subresource {
  readonly name: string;
  readonly responseKind: GroupVersionKind;
  readonly verbs: readonly Verb[];
  /**
   * For those that show and change the object itself (`/status`, `/approval`, `/finalize`): what of the
   * request is kept. `draft` is the request, and becomes what is stored.
   */
  readonly edit?: {
    prepare(draft: DynamicObject, current: DynamicObject, context: RequestContext): void;
    validate(object: DynamicObject, current: DynamicObject, context: RequestContext): FieldError[];
  };
  /** For those with a kind of their own that is a view of the object (`/scale`). */
  readonly view?: {
    read(object: DynamicObject): DynamicObject;
    /** Writes the view's wish into a draft of the object. Throws ApiError for an invalid wish. */
    write(draft: DynamicObject, view: DynamicObject): void;
    /** Names of the fields that lead to what the view shows as spec.replicas. */
    readonly replicasPath: readonly string[];
  };
  /** For those that only take a POST (`/token`, `/binding`, `/eviction`). */
  readonly answer?: (request: SubresourceRequest) => Promise<DynamicObject>;
  /** For those that answer with bytes as they come (`/log`), or would turn the connection into something else (`/exec`). */
  readonly connect?: (request: ConnectRequest) => Promise<ByteStream>;
}

export interface ConnectRequest {
  readonly parent: DynamicObject;
  readonly query: URLSearchParams;
  /** Fires when the client goes away or the server stops. */
  readonly closed: AbortSignal;
}

export interface ByteStream {
  readonly contentType: string;
  /** Absent where there is nothing to be had. */
  readonly body?: AsyncIterable<Uint8Array>;
}

export interface SubresourceRequest {
  readonly parent: DynamicObject;
  readonly body: DynamicObject;
  readonly context: RequestContext;
}

/** A kind that is asked and not stored. */
export type Answer = (body: DynamicObject, context: RequestContext) => Promise<DynamicObject>;

export interface TableColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableLayout {
  readonly columns: readonly TableColumn[];
  /** One cell per column. */
  row(object: DynamicObject, now: Date): (string | number | boolean | null)[];
}

/** The resources that one cluster serves at this moment. */
export interface Catalog {
  readonly resources: readonly Resource[];
  find(group: string, version: string, plural: string): Resource | undefined;
  /** Grows with every change, so that what is derived from the catalog can be kept until it changes. */
  readonly generation: number;
}
