/** What is asked before ManagedClusters and ManagedClusterSetBindings are written: whether they may be, and what they get. */
import type { AdmissionRequest } from "#api/admission";
import { Namespace } from "#api/core";
import { WebhookPath } from "#api/operator";
import { type Client, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import { isDeleting } from "#lib/meta";
import { type AdmissionHandlers, consent, type Refusal, refusalTo } from "#runtime";
import { bindingFlaw, bindingRights } from "./binding-validation.ts";
import { clusterMutation } from "./cluster-mutation.ts";
import { acceptRefusal, clusterFlaw, clusterRights, isAcceptance } from "./cluster-validation.ts";

export interface RegistrationWebhookOptions {
  /** Asked who may do what, and whether the namespace of a cluster is about to go. */
  readonly client: Pick<Client, "create" | "get">;
  /** Whether a cluster that names no set belongs to `default`. */
  readonly defaultSet: boolean;
  readonly clock: Clock;
}

export function registrationWebhooks({ client, defaultSet, clock }: RegistrationWebhookOptions): AdmissionHandlers {
  return {
    [WebhookPath.mutateCluster]: (request) => clusterMutation(request, { now: clock.now(), defaultSet }),

    [WebhookPath.validateCluster]: async (request, signal) => {
      const flaw = clusterFlaw(request);
      if (flaw) return flaw;
      const name = nameOf(request);
      const leaving = isAcceptance(request) ? await terminating(name, signal) : undefined;
      return leaving ?? (await refusalTo(client, request.userInfo, clusterRights(request, name), signal)) ?? consent;
    },

    [WebhookPath.validateBinding]: async (request, signal) =>
      bindingFlaw(request) ?? (await refusalTo(client, request.userInfo, bindingRights(request), signal)) ?? consent,
  };

  /** What a cluster gets when it is let in would go with its namespace. */
  async function terminating(name: string, signal: AbortSignal): Promise<Refusal | undefined> {
    try {
      const namespace = await client.get(Namespace, name, { signal });
      if (!isDeleting(namespace)) return undefined;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    return acceptRefusal(name, `namespace ${JSON.stringify(name)} is terminating; accept the cluster when it is gone`);
  }
}

function nameOf({ name, object }: AdmissionRequest): string {
  return name || (object?.metadata.name ?? "");
}
