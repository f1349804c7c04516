/** How one object of a set goes in: what is in its way, what is there, what is written, and what all that means. */
import type { DynamicObject, Kind } from "#api/meta";
import { isDeleting } from "#lib/meta";
import { isKubeError, isUnknownKind, type KubeError } from "../errors.ts";
import type { CallOptions } from "../types.ts";
import { isFieldConflict, type Patience, persist } from "./attempts.ts";
import { labelled, prepared } from "./content.ts";
import { type Difference, differenceOf } from "./diff.ts";
import type { Gates } from "./gates.ts";
import { keyOfId, nameOf } from "./identity.ts";
import { ApplySetLabel } from "./inventory/apply-set.ts";
import { type Item, itemIdentity } from "./item.ts";
import type { Kinds } from "./kinds.ts";
import type { Live } from "./live.ts";
import { ownsLabel } from "./ownership.ts";
import { verdictOf, wordsOf } from "./refusals.ts";
import { carryOut, noteOf, type Stage, type Task } from "./strategies/index.ts";
import type { ObjectSet } from "./types.ts";
import { until } from "./until.ts";
import { CALLED_OFF, FORETOLD, type Verdict } from "./verdict.ts";

export interface OneOptions {
  readonly set: ObjectSet;
  readonly stage: Stage;
  readonly kinds: Kinds;
  readonly gates: Gates;
  readonly live: Live;
  readonly patience: Patience;
  readonly onWait: (what: string) => void;
}

export interface Decision {
  readonly verdict: Verdict;
  readonly difference?: Difference | undefined;
}

export class OneByOne {
  readonly #options: OneOptions;

  constructor(options: OneOptions) {
    this.#options = options;
  }

  /** Does what is to be done about one object; never throws for what a server says. */
  async decide(item: Item): Promise<Decision> {
    const { gates, patience } = this.#options;
    if (patience.signal?.aborted) return { verdict: CALLED_OFF };
    try {
      const hindrance = await gates.before(item);
      if (!hindrance) return await this.#write(item);
      return { verdict: hindrance, difference: hindrance === FORETOLD ? this.#creation(item) : undefined };
    } catch (error) {
      return { verdict: verdictOf(error) };
    }
  }

  async #write(item: Item): Promise<Decision> {
    const { kinds, live, stage, patience, onWait } = this.#options;
    let before: DynamicObject | undefined;
    const attempt = async (count: number): Promise<Verdict> => {
      const kind = await kinds.find(item.object, this.#call);
      if (!kind) return VANISHED;
      try {
        before = await live.get(item, kind, count > 0, this.#call);
        if (!before && mustBeSure(item)) before = await live.get(item, kind, true, this.#call);
        return await this.#attempt(this.#task(item, kind, before), item);
      } catch (error) {
        // Nobody quarrels about the fields of what is not there: it has come, and the copy does not know it yet.
        if (!before && isFieldConflict(error)) {
          before = await live.get(item, kind, true, this.#call);
          return await this.#attempt(this.#task(item, kind, before), item);
        }
        if (isUnknownKind(error)) kinds.forget(item.object.apiVersion);
        throw error;
      }
    };
    const verdict = await persist(patience, attempt, (error) => onWait(hurdle(item, error)));
    if (verdict.action === "created") return { verdict, difference: stage.dryRun ? this.#creation(item) : undefined };
    if (verdict.action !== "updated" || !verdict.after) return { verdict };
    return { verdict, difference: differenceOf(before, verdict.after, this.#noteOf(item)) };
  }

  async #attempt(task: Task, item: Item): Promise<Verdict> {
    const { stage, gates } = this.#options;
    const { live } = task;
    if (item.strategy.type === "ReadOnly") return carryOut(item.strategy, stage, task);
    if (live && isDeleting(live)) {
      return (await this.#isGone(item, task.kind)) ? this.#attempt({ ...task, live: undefined }, item) : BEING_DELETED;
    }
    const hindrance = (live && this.#rivalOf(live, item)) ?? (await gates.backing(item, live));
    if (hindrance) return hindrance;
    try {
      return await carryOut(item.strategy, stage, task);
    } catch (error) {
      if (stage.dryRun && isUntriable(error)) return { ...UNTRIED, action: live ? "updated" : "created" };
      throw error;
    }
  }

  #task(item: Item, kind: Kind, live: DynamicObject | undefined): Task {
    const { set, stage } = this.#options;
    const manifest = keepingMembership(manifestOf(item, kind, set), item, set, live, stage.fieldManager);
    return { identity: itemIdentity(item), kind, key: keyOfId(item.id), manifest, owner: item.owner, live };
  }

  /** An object that carries the label of another set is that set's to change, and to remove. */
  #rivalOf(live: DynamicObject, { strategy }: Item): Verdict | undefined {
    const label = labelOf(this.#options.set);
    const other = label && live.metadata.labels?.[label.key];
    if (!label || !other || other === label.value) return undefined;
    if (strategy.type === "ServerSideApply" && strategy.force) return undefined;
    return { action: "refused", reason: "OtherSet", message: `it belongs to another set, ${other}` };
  }

  #isGone({ id }: Item, kind: Kind): Promise<boolean> {
    const { patience, stage, onWait } = this.#options;
    return until({
      ...patience,
      client: stage.client,
      kind,
      scope: { fieldSelector: `metadata.name=${id.name}`, ...(id.namespace && { namespace: id.namespace }) },
      isFulfilled: (objects) => objects.length === 0,
      onWait: () => onWait(`${nameOf(id)} to be gone`),
    });
  }

  #creation(item: Item): Difference {
    return differenceOf(undefined, item.object, this.#noteOf(item));
  }

  #noteOf({ strategy }: Item): string {
    return noteOf(this.#options.stage, strategy);
  }

  get #call(): CallOptions {
    const { signal } = this.#options.patience;
    return signal ? { signal } : {};
  }
}

const VANISHED: Verdict = {
  action: "waiting",
  reason: "UnknownKind",
  message: "the server does not serve its kind any more",
};

const BEING_DELETED: Verdict = {
  action: "waiting",
  reason: "BeingDeleted",
  message: "it is being deleted, and can only be created anew when it is gone",
};

const UNTRIED: Omit<Verdict, "action"> = {
  reason: "Applied",
  message: "a webhook of the server cannot be asked in a plan",
  checked: false,
};

/** A webhook that does more than it says cannot be asked for the sake of a plan. */
function isUntriable(error: unknown): error is KubeError {
  return isKubeError(error) && error.code === 400 && /does not support dry run/.test(error.status?.message ?? "");
}

/** Taken for absent, an object would be sent the very fields that are to be left alone. */
function mustBeSure({ strategy }: Item): boolean {
  return strategy.type === "ServerSideApply" && strategy.ignoring !== undefined;
}

function hurdle({ id }: Item, error: unknown): string {
  return `${nameOf(id)}: ${isKubeError(error) ? wordsOf(error) : String(error)}`;
}

const manifests = new WeakMap<
  Item,
  { readonly kind: Kind; readonly set: ObjectSet; readonly manifest: DynamicObject }
>();

/** The manifest as it is sent, with the label of its set. It is asked for at every event, so it is made once. */
export function manifestOf(item: Item, kind: Kind, set: ObjectSet): DynamicObject {
  const known = manifests.get(item);
  if (known?.kind === kind && known.set === set) return known.manifest;
  const plain = prepared(item.object, kind, set.namespace ?? "default");
  const manifest = item.strategy.type === "ReadOnly" ? plain : labelled(plain, labelOf(set));
  manifests.set(item, { kind, set, manifest });
  return manifest;
}

/**
 * Whoever applies an object without its set does not mean to take it out: a label that the manager itself has given is
 * given again.
 */
function keepingMembership(
  manifest: DynamicObject,
  { strategy }: Item,
  set: ObjectSet,
  live: DynamicObject | undefined,
  fieldManager: string,
): DynamicObject {
  if (!live || strategy.type !== "ServerSideApply" || labelOf(set)) return manifest;
  const value = live.metadata.labels?.[ApplySetLabel.partOf];
  const isOurs = ownsLabel(strategy.fieldManager ?? fieldManager, live, ApplySetLabel.partOf);
  return value !== undefined && isOurs ? labelled(manifest, { key: ApplySetLabel.partOf, value }) : manifest;
}

function labelOf({ tracking }: ObjectSet): { key: string; value: string } | undefined {
  return tracking && "label" in tracking.membership ? tracking.membership.label : undefined;
}
