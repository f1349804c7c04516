/** Asks the webhooks that match an operation: first those that may change the object, one after the other, then the rest together. */
import type { Operation } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { equal } from "#lib/json";
import { type ApiError, internalError } from "../errors.ts";
import { type AdmissionQuestion, type AdmissionWebhooks, inVersionOf, type Target } from "../registry/index.ts";
import type { Catalog, Resource } from "../resource.ts";
import type { Store } from "../store/index.ts";
import type { Authorize, WebhookCaller } from "../webhooks/index.ts";
import { Configurations, type Hook, type Invocation, type Invocations } from "./configurations.ts";
import { ask, HookFailure } from "./hook-call.ts";
import { patched } from "./patched.ts";
import { conditionsHold, isSelected, type SeenObjects } from "./relevance.ts";
import { factsOf, isAboutObjects, requestWith } from "./review-request.ts";

export interface WebhookAdmissionOptions {
  readonly store: Store;
  /** The resources that are served at this moment. */
  readonly catalog: () => Catalog;
  readonly caller: WebhookCaller;
  readonly authorize: Authorize;
  readonly clock: Clock;
}

export interface AskedWebhooks {
  webhooks(target: Target, operation: Operation): AdmissionWebhooks | undefined;
  close(): void;
}

/** No request takes longer than this, however many webhooks there are. */
const LONGEST_REQUEST_MS = 34_000;

export function askWebhooks(options: WebhookAdmissionOptions): AskedWebhooks {
  const configurations = new Configurations(options.store, options.catalog);
  return {
    webhooks(target, operation) {
      const invocations = configurations.matching(target, operation);
      return invocations && new Conversation(options, invocations);
    },
    close: () => configurations.close(),
  };
}

const MUTATION_REMARK = "mutation.webhook.admission.k8s.io";
const FAILED_OPEN_REMARK = {
  mutating: `failed-open.${MUTATION_REMARK}`,
  validating: "failed-open.validating.webhook.admission.k8s.io",
};

/** All that is asked about one request. */
class Conversation implements AdmissionWebhooks {
  readonly #options: WebhookAdmissionOptions;
  readonly #invocations: Invocations;
  readonly #deadline: number;

  constructor(options: WebhookAdmissionOptions, invocations: Invocations) {
    this.#options = options;
    this.#invocations = invocations;
    this.#deadline = options.clock.now().getTime() + LONGEST_REQUEST_MS;
  }

  async mutate(question: AdmissionQuestion): Promise<DynamicObject | undefined> {
    const rounds = new Rounds();
    let object = await this.#round(question, 0, rounds);
    if (!rounds.hasChanged || !object) return object;
    // Whatever the server itself adds may be needed by what was added since.
    const readmitted = question.readmit?.(object) ?? object;
    if (readmitted !== object) rounds.changed();
    object = readmitted;
    return this.#round({ ...question, object }, 1, rounds);
  }

  async validate(question: AdmissionQuestion): Promise<void> {
    const relevant: { index: number; invocation: Invocation; seen: SeenObjects }[] = [];
    for (const [index, invocation] of this.#invocations.validating.entries()) {
      const seen = await this.#seenIfRelevant(invocation, question);
      if (seen) relevant.push({ index, invocation, seen });
    }
    const refusals = await Promise.all(
      relevant.map(({ index, invocation, seen }) =>
        this.#asked(invocation, question, seen, `${FAILED_OPEN_REMARK.validating}/round_0_index_${index}`).then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      ),
    );
    const refused = refusals.find((refusal) => refusal !== undefined);
    if (refused) throw refused.error;
  }

  async #round(start: AdmissionQuestion, round: 0 | 1, rounds: Rounds): Promise<DynamicObject | undefined> {
    let question = start;
    for (const [index, invocation] of this.#invocations.mutating.entries()) {
      const { hook, resource } = invocation;
      const seen = await this.#seenIfRelevant(invocation, question);
      if (!seen || (round === 1 && !rounds.isDue(hook))) continue;
      const place = `round_${round}_index_${index}`;
      const after = await this.#mutatedBy(invocation, question, seen, place);
      const isChanged = after !== undefined && !equal(after, seen.object);
      question.context.annotate?.(
        `${MUTATION_REMARK}/${place}`,
        JSON.stringify({ configuration: hook.configuration, webhook: hook.webhook.name, mutated: isChanged }),
      );
      if (after && isChanged) {
        rounds.changed();
        question = { ...question, object: await this.#shown(question, after, resource, question.target.resource) };
      }
      rounds.asked(hook);
    }
    return question.object;
  }

  /** What the webhook makes of the object, in the version it knows; undefined when it changes nothing. */
  async #mutatedBy(
    invocation: Invocation,
    question: AdmissionQuestion,
    seen: SeenObjects,
    place: string,
  ): Promise<DynamicObject | undefined> {
    const { hook, resource } = invocation;
    return this.#asked(invocation, question, seen, `${FAILED_OPEN_REMARK.mutating}/${place}`, (patch) =>
      patched({ patch, object: seen.object, resource, subresource: question.target.subresource, hook }),
    );
  }

  /**
   * Asks one webhook. Undefined when it allows and wants no change, or gave no answer and may be left out; throws
   * ApiError otherwise.
   */
  async #asked(
    { hook, resource }: Invocation,
    question: AdmissionQuestion,
    { object, oldObject }: SeenObjects,
    failedOpenRemark: string,
    change?: (patch: { readonly text: string; readonly type: string }) => DynamicObject | undefined,
  ): Promise<DynamicObject | undefined> {
    const { context } = question;
    const { name, failurePolicy } = hook.webhook;
    try {
      const { patch } = await ask(this.#options.caller, {
        hook,
        request: requestWith(factsOf(question, resource), object, oldObject),
        isMutating: change !== undefined,
        remainingMs: this.#deadline - this.#options.clock.now().getTime(),
        context,
      });
      return patch && change?.(patch);
    } catch (error) {
      if (!(error instanceof HookFailure)) throw error;
      if (failurePolicy !== "Ignore") throw callFailed(name, error);
      context.annotate?.(failedOpenRemark, name);
      return undefined;
    }
  }

  /** The objects as a webhook would see them; undefined when it does not want to see them. */
  async #seenIfRelevant(invocation: Invocation, question: AdmissionQuestion): Promise<SeenObjects | undefined> {
    const { hook, resource } = invocation;
    const { store, authorize } = this.#options;
    if (!isSelected(hook, question, store)) return undefined;
    const own = question.target.resource;
    const seen: SeenObjects = {
      object: question.object && (await this.#shown(question, question.object, own, resource)),
      oldObject: question.oldObject && (await this.#shown(question, question.oldObject, own, resource)),
    };
    return conditionsHold(hook, question, factsOf(question, resource), seen, authorize) ? seen : undefined;
  }

  /** Views and what is merely answered look alike in all versions. */
  async #shown(
    { target }: AdmissionQuestion,
    object: DynamicObject,
    from: Resource,
    to: Resource,
  ): Promise<DynamicObject> {
    return from !== to && isAboutObjects(target) ? inVersionOf(object, from, to) : object;
  }
}

function callFailed(name: string, { message }: HookFailure): ApiError {
  return internalError(`failed calling webhook ${JSON.stringify(name)}: ${message}`);
}

/** Which webhooks are asked again, because the object was changed after they had seen it. */
class Rounds {
  /** Asked since the last change, and willing to be asked again. */
  #waiting = new Set<string>();
  readonly #due = new Set<string>();
  #hasChanged = false;

  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  changed(): void {
    this.#hasChanged = true;
    for (const id of this.#waiting) this.#due.add(id);
    this.#waiting = new Set();
  }

  asked({ id, webhook }: Hook): void {
    if (webhook.reinvocationPolicy === "IfNeeded") this.#waiting.add(id);
  }

  isDue({ id }: Hook): boolean {
    return this.#due.has(id);
  }
}
