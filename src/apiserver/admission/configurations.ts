/** The webhooks of all configurations, by what they want to be asked about. */
import type { Operation } from "#api/admission";
import {
  type MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "#api/admissionregistration";
import type { DynamicObject, LabelSelector } from "#api/meta";
import { type LabelMatcher, labelSelector, SelectorError } from "#lib/selectors";
import { internalError } from "../errors.ts";
import type { Target } from "../registry/index.ts";
import type { Catalog, Resource } from "../resource.ts";
import type { Store } from "../store/index.ts";
import { type Conditions, conditionsOf, versionFor } from "../webhooks/index.ts";

/** A webhook of a configuration, with what is read from it once. */
export interface Hook {
  /** Unlike that of any other. */
  readonly id: string;
  readonly configuration: string;
  /** Those that only validate have no policy of being asked again. */
  readonly webhook: MutatingWebhook;
  readonly conditions: Conditions | undefined;
  /** Throws ApiError for a selector that makes no sense. */
  namespaces(): LabelMatcher;
  objects(): LabelMatcher;
}

/** A webhook that wants to see an operation, in that version of the resource. */
export interface Invocation {
  readonly hook: Hook;
  readonly resource: Resource;
}

export interface Invocations {
  readonly mutating: readonly Invocation[];
  readonly validating: readonly Invocation[];
}

const STORAGES = {
  mutating: `${MutatingWebhookConfiguration.group}/${MutatingWebhookConfiguration.plural}`,
  validating: `${ValidatingWebhookConfiguration.group}/${ValidatingWebhookConfiguration.plural}`,
} as const;

type Role = keyof typeof STORAGES;
const ROLES: readonly Role[] = ["mutating", "validating"];

/** Whoever configures admission must be able to undo it, so nobody is asked about that. */
const EXEMPT_GROUP = MutatingWebhookConfiguration.group;

const NOBODY: Invocations = { mutating: [], validating: [] };

/** Follows the configurations of a cluster. */
export class Configurations {
  readonly #catalog: () => Catalog;
  readonly #hooks: Record<Role, Map<string, readonly Hook[]>> = { mutating: new Map(), validating: new Map() };
  /** By operation and resource; forgotten when configurations or resources change. */
  #known = new Map<string, Invocations>();
  #generation = -1;
  readonly #unsubscribe: () => void;

  constructor(store: Store, catalog: () => Catalog) {
    this.#catalog = catalog;
    for (const role of ROLES) {
      for (const object of store.list(STORAGES[role]).items) this.#enter(role, object);
    }
    this.#unsubscribe = store.subscribe(({ resource, type, key, object }) => {
      const role = ROLES.find((each) => STORAGES[each] === resource);
      if (!role) return;
      if (type === "DELETED") this.#hooks[role].delete(key);
      else this.#enter(role, object);
      this.#known.clear();
    });
  }

  /** Undefined when nobody wants to see such an operation. */
  matching({ resource, subresource }: Target, operation: Operation): Invocations | undefined {
    if (this.#hooks.mutating.size === 0 && this.#hooks.validating.size === 0) return undefined;
    const { generation } = this.#catalog();
    if (generation !== this.#generation) this.#known.clear();
    this.#generation = generation;
    const { group, version, plural } = resource;
    const key = `${operation} ${group}/${version}/${plural}/${subresource?.name ?? ""}`;
    let found = this.#known.get(key);
    if (!found) {
      found = this.#find(resource, subresource?.name ?? "", operation);
      this.#known.set(key, found);
    }
    return found === NOBODY ? undefined : found;
  }

  close(): void {
    this.#unsubscribe();
  }

  #enter(role: Role, object: DynamicObject): void {
    const { metadata, webhooks = [] } = object as unknown as MutatingWebhookConfiguration;
    const hooks = webhooks.map((webhook, index) => hookOf(role, metadata.name, webhook, index));
    this.#hooks[role].set(metadata.name, hooks);
  }

  #find(resource: Resource, subresource: string, operation: Operation): Invocations {
    if (resource.group === EXEMPT_GROUP) return NOBODY;
    const siblings = this.#catalog().resources.filter(
      (other) => other !== resource && other.storage === resource.storage && !other.answer,
    );
    const invocations = (role: Role): Invocation[] =>
      this.#inOrder(role).flatMap((hook) => {
        const found = versionFor(hook.webhook, { operation, resource, subresource }, siblings);
        return found ? [{ hook, resource: found }] : [];
      });
    const [mutating, validating] = [invocations("mutating"), invocations("validating")];
    return mutating.length + validating.length === 0 ? NOBODY : { mutating, validating };
  }

  /** By the names of configurations, and inside of them as they are written. */
  #inOrder(role: Role): Hook[] {
    return [...this.#hooks[role]].sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, hooks]) => hooks);
  }
}

function hookOf(role: Role, configuration: string, webhook: MutatingWebhook, index: number): Hook {
  const { matchConditions = [], namespaceSelector = {}, objectSelector = {} } = webhook;
  return {
    id: `${role}/${configuration}/${index}`,
    configuration,
    webhook,
    conditions: matchConditions.length > 0 ? conditionsOf(matchConditions) : undefined,
    namespaces: once(() => matcherOf(namespaceSelector)),
    objects: once(() => matcherOf(objectSelector)),
  };
}

function matcherOf(selector: LabelSelector): LabelMatcher {
  try {
    return labelSelector(selector);
  } catch (error) {
    if (error instanceof SelectorError) throw internalError(error.message);
    throw error;
  }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
