/**
 * Works that are executed in the name of a service account: nothing is applied that the account could not apply itself.
 * The spoke is asked what the account may do; the writing is done by the agent.
 */
import { SubjectAccessReview } from "#api/authorization";
import type { DynamicObject, Kind, OwnerReference } from "#api/meta";
import { RBAC_GROUP } from "#api/rbac";
import type { ManifestWork, WorkExecutor } from "#api/work";
import { isAlreadyExists, isForbidden, isKubeError, type Kinds, type ObjectId } from "#kube";
import type { Clock } from "#lib/clock";
import type { Cluster } from "#runtime";
import { type Hindrance, isWritten, type Piece } from "./pieces.ts";
import { AppliedReason } from "./reasons.ts";
import type { Account, Rights } from "./rights.ts";

export interface AccessOptions {
  readonly spoke: Cluster;
  readonly kinds: Kinds;
  readonly clock: Clock;
  /** Whether a permission is believed for a while; every time it matters it is asked for unless told. */
  readonly remembers?: boolean;
  /** Tells when one may not be believed any more. */
  readonly rights?: Rights;
}

/** A permission is believed for so long, unless rights change before; a refusal is asked about again after as much. */
const LIFETIME = 60_000;
const VERBS = ["create", "update", "patch"] as const;
/** A kind that the work itself brings can be asked about in a moment. */
const UNSERVED_RETRY = 1_000;

export class Access {
  readonly #options: AccessOptions;
  /** By user, what was allowed, and until when that holds. */
  readonly #allowed = new Map<string, Map<string, number>>();

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** The pieces, with those held back that the work's executor may not apply. */
  async checked(work: ManifestWork, pieces: readonly Piece[], signal: AbortSignal): Promise<Piece[]> {
    const { rights } = this.#options;
    const { executor } = work.spec ?? {};
    const account = executor && accountOf(executor);
    if (account === undefined || typeof account === "string") rights?.leave(work.metadata.name);
    else rights?.follow(work.metadata.name, account);
    if (account === undefined) return [...pieces];
    this.#expire();
    return Promise.all(
      pieces.map(async (piece) => {
        if (piece.hindrance) return piece;
        const hindrance =
          typeof account === "string" ? failure(account) : await this.#hindrance(account, piece, signal);
        return hindrance ? { ...piece, hindrance } : piece;
      }),
    );
  }

  async #hindrance(account: Account, piece: Piece, signal: AbortSignal): Promise<Hindrance | undefined> {
    const { kind, id, object } = piece;
    if (!kind || !id) return unserved(piece);
    const { remembers = false, clock } = this.#options;
    const { ownerReferences } = object.metadata;
    const facts = [isWritten(piece), piece.isOwned, kind, id, rbacPart(kind, object), ownerReferences];
    const question = JSON.stringify(facts);
    const known = this.#allowed.get(account.user) ?? new Map<string, number>();
    if (known.has(question)) return undefined;
    if (remembers) this.#allowed.set(account.user, known);
    const refusal = await this.#refusal(account, piece, kind, id, signal);
    // Should it be forgotten meanwhile, this answer is too: it may be of the time before.
    if (!refusal) known.set(question, clock.now().getTime() + LIFETIME);
    return refusal;
  }

  /** What the account may do may have changed. */
  forget({ user }: Account): void {
    this.#allowed.delete(user);
  }

  close(): void {
    this.#options.rights?.close();
  }

  /** Nobody acts for the work any more. */
  leave(work: string): void {
    this.#options.rights?.leave(work);
  }

  async #refusal(
    account: Account,
    piece: Piece,
    kind: Kind,
    id: ObjectId,
    signal: AbortSignal,
  ): Promise<Hindrance | undefined> {
    const { group, version, plural } = kind;
    const { namespace = "", name } = id;
    const what = `${group} ${plural}, ${namespace} ${name}`;
    const denial = `not allowed to apply the resource ${what}, will try again in 1m0s`;
    const may = (verb: string) =>
      this.#may(account, { group, version, resource: plural, namespace, name, verb }, signal);
    try {
      // Whoever may not read the object is told nothing of it in the status either.
      if (!(await may("get"))) return { ...failure(denial), isHidden: true };
      if (!isWritten(piece)) return undefined;
      for (const verb of [...VERBS, ...(piece.isOwned ? ["delete"] : [])])
        if (!(await may(verb))) return failure(denial);
      for (const owner of piece.object.metadata.ownerReferences ?? []) {
        if (await this.#mayBlock(account, owner, namespace, signal)) continue;
        return failure(`${denial}, error: it would hold up the deletion of ${owner.kind} ${owner.name}`);
      }
      const isEscalation = group === RBAC_GROUP && (await this.#escalates(account, piece.object, kind, id, signal));
      return isEscalation ? failure(`${denial}, error: permission escalation`) : undefined;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      const why = `whether ${account.user} may apply the resource ${what} cannot be told: ${error.message}`;
      return { ...failure(why), isHidden: true };
    }
  }

  async #may(
    { user, groups }: Account,
    resourceAttributes: NonNullable<SubjectAccessReview["spec"]["resourceAttributes"]>,
    signal: AbortSignal,
  ): Promise<boolean> {
    const spec = { user, groups: [...groups], resourceAttributes };
    const review = await this.#options.spoke.client.create(SubjectAccessReview, { metadata: {}, spec }, { signal });
    return review.status?.allowed === true;
  }

  /** An owner that may not go before the object is as good as held by it: that takes a right over the owner. */
  async #mayBlock(account: Account, owner: OwnerReference, namespace: string, signal: AbortSignal): Promise<boolean> {
    if (!owner.blockOwnerDeletion) return true;
    const kind = await this.#options.kinds.find(owner, { signal });
    if (!kind) return false;
    const { group, version, plural } = kind;
    const place = kind.namespaced ? { namespace } : {};
    const where = { group, version, resource: plural, subresource: "finalizers", ...place, name: owner.name };
    return this.#may(account, { ...where, verb: "update" }, signal);
  }

  /** Only the server can tell whether a role gives more than its maker has; it is asked without anything being made. */
  async #escalates(
    { user }: Account,
    object: DynamicObject,
    kind: Kind,
    { namespace, name }: ObjectId,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { metadata, status: _, ...content } = object;
    const { labels, annotations } = metadata;
    const draft = {
      ...content,
      metadata: {
        name,
        ...(namespace && { namespace }),
        ...(labels && { labels }),
        ...(annotations && { annotations }),
      },
    };
    try {
      await this.#options.spoke.client.create(kind, draft, { dryRun: true, actAs: user, signal });
      return false;
    } catch (error) {
      if (isForbidden(error)) return true;
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  #expire(): void {
    const now = this.#options.clock.now().getTime();
    for (const answers of this.#allowed.values()) {
      for (const [question, until] of answers) if (until <= now) answers.delete(question);
    }
  }
}

/** What is not served cannot be asked about, and must not go in unasked once it is. */
function unserved({ object }: Piece): Hindrance | undefined {
  if (!object.kind || !object.metadata?.name) return undefined;
  const why = `the server doesn't have a resource type "${object.kind}"`;
  return { ...failure(why), retryIn: UNSERVED_RETRY };
}

/** Who executes, as the spoke knows them; a sentence when the work does not say it well. */
function accountOf({ subject }: WorkExecutor): Account | string {
  if (!subject) return "the executor of the work names no subject";
  const { type, serviceAccount } = subject;
  if (type !== "ServiceAccount" || !serviceAccount) {
    return `the executor of the work is a ${type} without a service account; only service accounts execute works`;
  }
  const { namespace, name } = serviceAccount;
  return {
    user: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", "system:authenticated", `system:serviceaccounts:${namespace}`],
  };
}

/** What a role gives decides; of all else only the name does. */
function rbacPart({ group }: Kind, { rules, aggregationRule, roleRef, subjects }: DynamicObject): unknown {
  return group === RBAC_GROUP ? [rules, aggregationRule, roleRef, subjects] : undefined;
}

function failure(why: string): Hindrance {
  return { reason: AppliedReason.manifestFailed, message: `Failed to apply manifest: ${why}`, retryIn: LIFETIME };
}
