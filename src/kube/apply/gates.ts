/** What must be in place before an object can go in, and waiting for it. */
import { CustomResourceDefinition, DefinitionCondition } from "#api/apiextensions";
import { EndpointSlice, SliceLabel } from "#api/discovery";
import type { DynamicObject } from "#api/meta";
import { isForbidden, isUnknownKind } from "../errors.ts";
import type { Client } from "../types.ts";
import { type Patience, sleep } from "./attempts.ts";
import { nameOf } from "./identity.ts";
import type { Item, Relations } from "./item.ts";
import type { Kinds } from "./kinds.ts";
import { verdictOf } from "./refusals.ts";
import type { ObjectReport } from "./types.ts";
import { until } from "./until.ts";
import { FORETOLD, type Verdict } from "./verdict.ts";
import { type ServiceRef, servicesBehind } from "./webhooks.ts";

export interface GatesOptions {
  readonly client: Client;
  readonly kinds: Kinds;
  readonly relations: Relations;
  readonly patience: Patience;
  readonly dryRun: boolean;
  readonly reportOf: (item: Item) => ObjectReport | undefined;
  readonly onWait: (what: string) => void;
}

/** Discovery cannot be watched; it follows an established definition within a moment. */
const DISCOVERY_PAUSE = 200;

export class Gates {
  readonly #options: GatesOptions;
  /** Many wait for the same; one wait is enough. */
  readonly #waits = new Map<string, Promise<Verdict | undefined>>();

  constructor(options: GatesOptions) {
    this.#options = options;
  }

  /** Waits for what the item stands on. The answer is what is still in the way; undefined when nothing is. */
  async before(item: Item): Promise<Verdict | undefined> {
    if (item.strategy.type === "ReadOnly") return undefined;
    const { relations } = this.#options;
    const namespace = relations.namespaceOf(item);
    return (
      (namespace && this.#standsOn(namespace)) ??
      (await this.#kindServed(item)) ??
      first(relations.guardsOf(item).map((guard) => this.#standsOn(guard, { foretells: false })))
    );
  }

  /**
   * Waits for the Services that must answer before the object is written: those of a registration that the live one does
   * not name already, for it judges from then on, and those that convert an object that is new.
   */
  async backing(item: Item, live: DynamicObject | undefined): Promise<Verdict | undefined> {
    const known = new Set((live ? servicesBehind(live) : []).map(textOf));
    const behind = servicesBehind(item.object).filter((service) => !known.has(textOf(service)));
    return this.#backed(live ? behind : [...behind, ...this.#options.relations.convertersOf(item)]);
  }

  #standsOn(other: Item, { foretells = true } = {}): Verdict | undefined {
    const report = this.#options.reportOf(other);
    switch (report?.action) {
      case "waiting":
        return { action: "waiting", reason: "Prerequisite", message: `it waits for ${nameOf(other.id)}` };
      case "refused":
      case "held back":
        return { action: "held back", reason: "Prerequisite", message: `${nameOf(other.id)} is not in place` };
      case "created":
        return this.#options.dryRun && foretells ? FORETOLD : undefined;
      default:
        return undefined;
    }
  }

  async #kindServed(item: Item): Promise<Verdict | undefined> {
    const { kinds, relations, dryRun } = this.#options;
    if (kinds.known(item.object)) return undefined;
    const definition = relations.definitionOf(item);
    const bringer = definition ?? relations.providerOf(item);
    if (!bringer) return this.#unknown(item);
    if (dryRun) return this.#standsOn(bringer) ?? FORETOLD;
    const missing = this.#standsOn(bringer);
    if (missing) return missing;
    return this.#once(`${item.object.apiVersion} ${item.object.kind}`, async () => {
      if (definition && !(await this.#established(definition))) {
        const message = `${nameOf(definition.id)} is not established`;
        return { action: "waiting", reason: "Prerequisite", message };
      }
      return this.#discovered(item);
    });
  }

  /** The kind may have come since the run began. */
  async #unknown(item: Item): Promise<Verdict | undefined> {
    const { kind, apiVersion } = item.object;
    if (await this.#options.kinds.find(item.object, this.#call)) return undefined;
    const message = `the server does not know ${kind} in ${apiVersion}; install its CustomResourceDefinition first`;
    return { action: "waiting", reason: "UnknownKind", message };
  }

  #established({ id }: Item): Promise<boolean> {
    const { client, patience, onWait } = this.#options;
    return until({
      ...patience,
      client,
      kind: CustomResourceDefinition,
      scope: { fieldSelector: `metadata.name=${id.name}` },
      isFulfilled: (definitions) =>
        definitions.some(({ status }) =>
          status?.conditions?.some(({ type, status: is }) => type === DefinitionCondition.Established && is === "True"),
        ),
      onWait: () => onWait(`${nameOf(id)} to be established`),
    });
  }

  async #discovered(item: Item): Promise<Verdict | undefined> {
    const { kinds, patience } = this.#options;
    const { kind, apiVersion } = item.object;
    while (!(await kinds.find(item.object, this.#call))) {
      if (patience.clock.now().getTime() + DISCOVERY_PAUSE > patience.until || patience.signal?.aborted) {
        return {
          action: "waiting",
          reason: "UnknownKind",
          message: `the server does not serve ${kind} in ${apiVersion} yet`,
        };
      }
      this.#options.onWait(`${kind} in ${apiVersion} to be served`);
      await sleep(patience, DISCOVERY_PAUSE);
    }
    return undefined;
  }

  async #backed(services: readonly ServiceRef[]): Promise<Verdict | undefined> {
    const { relations, dryRun } = this.#options;
    const absent = services
      .flatMap((service) => relations.serviceOf(service) ?? [])
      .map((item) => this.#standsOn(item, { foretells: false }));
    const hopeless = first(absent);
    // A plan tells what will be written, not how long it takes.
    if (hopeless || dryRun) return hopeless;
    const answers = await Promise.all(
      services.map((service) => this.#once(`backing ${textOf(service)}`, () => this.#backedService(service))),
    );
    return first(answers);
  }

  async #backedService(service: ServiceRef): Promise<Verdict | undefined> {
    const { client, patience, onWait } = this.#options;
    try {
      const isBacked = await until({
        ...patience,
        client,
        kind: EndpointSlice,
        scope: { namespace: service.namespace, labelSelector: `${SliceLabel.serviceName}=${service.name}` },
        isFulfilled: (slices) =>
          slices.some(({ endpoints }) => endpoints?.some(({ conditions }) => conditions?.ready !== false)),
        onWait: () => onWait(`Service ${textOf(service)} to have ready endpoints`),
      });
      if (isBacked) return undefined;
      const message = `Service ${textOf(service)} has no ready endpoints; objects would be refused in its name`;
      return { action: "waiting", reason: "WebhookUnbacked", message };
    } catch (error) {
      // Whoever may not see endpoints cannot wait for them, and may still register.
      return isForbidden(error) || isUnknownKind(error) ? undefined : verdictOf(error);
    }
  }

  #once(what: string, work: () => Promise<Verdict | undefined>): Promise<Verdict | undefined> {
    const known = this.#waits.get(what);
    if (known) return known;
    const wait = work();
    this.#waits.set(what, wait);
    return wait;
  }

  get #call() {
    const { signal } = this.#options.patience;
    return signal ? { signal } : {};
  }
}

function textOf({ namespace, name }: ServiceRef): string {
  return `${namespace}/${name}`;
}

function first<T>(values: readonly (T | undefined)[]): T | undefined {
  return values.find((value) => value !== undefined);
}
