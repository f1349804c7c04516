/** How installations of Knative fare, and waiting for them, for those who only look at them through the hub. */
import { KnativeCondition, type KnativeEventing, type KnativeServing } from "#api/knative";
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import type { Client } from "#kube";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { UserError } from "./user-error.ts";

export type KnativeInstallation = KnativeServing | KnativeEventing;

export interface KnativeState {
  /** `namespace/name` of its ClusterProfile; undefined on the hub itself. */
  readonly cluster?: string;
  readonly version: string;
  readonly ready: "True" | "False" | "Unknown";
  /** Why it is not ready. */
  readonly reason: string;
  readonly message: string;
}

export function knativeState(installation: KnativeInstallation): KnativeState {
  const { spec, status, metadata } = installation;
  const ref = spec?.clusterProfileRef;
  const said = findCondition(status?.conditions, KnativeCondition.ready);
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 1);
  const isLeaving = isDeleting(installation) && (!isSeen || said?.status === "True");
  const ready = isLeaving ? DELETING : isSeen && said ? said : UNSEEN;
  return {
    ...(ref && { cluster: `${ref.namespace}/${ref.name}` }),
    version: status?.version ?? "",
    ready: ready.status,
    reason: ready.status === "True" ? "" : (ready.reason ?? ""),
    message: ready.status === "True" ? "" : (ready.message ?? ""),
  };
}

interface Said {
  readonly status: "True" | "False" | "Unknown";
  readonly reason?: string;
  readonly message?: string;
}

const UNSEEN: Said = {
  status: "Unknown",
  reason: "NotSeenYet",
  message: "no operator has looked at it as it is now; a hub with Knative's controllers must run",
};
const DELETING: Said = { status: "False", reason: "Deleting", message: "it is being removed" };

export interface WaitOptions {
  /** Ends the wait, with its reason. */
  readonly signal: AbortSignal;
  /** Hears how it stands, whenever that has changed. */
  readonly onState?: (state: KnativeState) => void;
}

/** Ends when an installation is ready. Throws UserError if somebody deletes it. */
export async function untilKnativeReady<T extends KnativeInstallation>(
  client: Client,
  kind: Kind<T>,
  key: string,
  options: WaitOptions,
): Promise<T> {
  const found = await follow(client, kind, key, options, (object) => object !== undefined && isReady(object));
  if (found) return found;
  throw new UserError(`${kind.kind} ${key} was deleted before it was ready`);
}

/** Ends when there is no such installation any more. */
export async function untilKnativeGone<T extends KnativeInstallation>(
  client: Client,
  kind: Kind<T>,
  key: string,
  options: WaitOptions,
): Promise<void> {
  await follow(client, kind, key, options, () => false);
}

function isReady(object: KnativeInstallation): boolean {
  return knativeState(object).ready === "True";
}

/** Watches one object until it is as wished, or gone, however often the stream ends in between. */
async function follow<T extends KnativeInstallation & KubeObject>(
  client: Client,
  kind: Kind<T>,
  key: string,
  { signal, onState = () => {} }: WaitOptions,
  isAsWished: (object: T) => boolean,
): Promise<T | undefined> {
  const [namespace = "", name = ""] = key.split("/");
  const scope = { namespace, fieldSelector: `metadata.name=${name}` };
  let last = "";
  for (;;) {
    const { items, metadata } = await client.list(kind, { ...scope, signal });
    const [current] = items;
    if (!current || isAsWished(current)) return current;
    tell(current);
    const from = metadata.resourceVersion;
    const events = await client.watch(kind, { ...scope, signal, ...(from !== undefined && { resourceVersion: from }) });
    for await (const { type, object } of events) {
      if (keyOf(object) !== key) continue;
      if (type === "DELETED") return undefined;
      if (isAsWished(object)) return object;
      tell(object);
    }
    signal.throwIfAborted();
  }

  function tell(object: T): void {
    const state = knativeState(object);
    const text = `${state.reason} ${state.message}`;
    if (text === last) return;
    last = text;
    onState(state);
  }
}
