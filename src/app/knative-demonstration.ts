/** Knative Serving on the first spoke of a fleet, for `up --with knative`. */
import { Namespace } from "#api/core";
import { KnativeComponent, KnativeServing } from "#api/knative";
import { type Client, isAlreadyExists, isNotFound } from "#kube";
import { knativeState, untilKnativeReady } from "./knative-state.ts";
import { UserError } from "./user-error.ts";

export interface DemonstrationOptions {
  readonly hub: Client;
  /** The ClusterProfile of the spoke. */
  readonly profile: { readonly namespace: string; readonly name: string };
  readonly patienceMs: number;
  /** Where people find out more. */
  readonly logs: string;
  readonly signal: AbortSignal;
}

/** What is there already is left as it is. Ends when it works, with its version; throws what stands in the way if it does not in time. */
export async function installDemonstration(options: DemonstrationOptions): Promise<string> {
  const { hub, profile, patienceMs, logs, signal } = options;
  const namespace = KnativeComponent.KnativeServing;
  const key = `${namespace}/${profile.name}`;
  if (!(await exists(hub, key))) {
    await hub.create(Namespace, { metadata: { name: namespace } }).catch(unlessThere);
    const spec = { clusterProfileRef: profile, ...kourier };
    await hub.create(KnativeServing, { metadata: { name: profile.name, namespace }, spec }).catch(unlessThere);
  }
  let last = "";
  const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
  try {
    const ready = await untilKnativeReady(hub, KnativeServing, key, {
      signal: patience,
      onState: ({ reason, message }) => {
        last = `${message} (${reason})`;
      },
    });
    return knativeState(ready).version;
  } catch (error) {
    if (signal.aborted || !patience.aborted) throw error;
    throw new UserError(`KnativeServing ${key} did not become ready: ${last}; see ${logs}`);
  }
}

/** The one ingress that needs nothing else on the cluster. */
const kourier = {
  config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } },
  ingress: { kourier: { enabled: true } },
};

async function exists(hub: Client, key: string): Promise<boolean> {
  try {
    await hub.get(KnativeServing, key);
    return true;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    return false;
  }
}

function unlessThere(error: unknown): undefined {
  if (!isAlreadyExists(error)) throw error;
  return undefined;
}
