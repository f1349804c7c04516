/** What is asked before ManifestWorks are written: whether they fit, are clear, and act in the name of whom they may. */
import { WebhookPath } from "#api/operator";
import type { Client } from "#kube";
import { type AdmissionHandlers, consent, refusalTo } from "#runtime";
import { executorRights, MANIFEST_LIMIT, workFlaw } from "./work-validation.ts";

export interface WorkWebhookOptions {
  /** Asked who may act in whose name. */
  readonly client: Pick<Client, "create">;
  /** Whether works that name nobody need a right too. */
  readonly nilExecutor: boolean;
  /** Bytes of all manifests of a work together; 500 KiB unless told. */
  readonly limit?: number;
}

export function workWebhooks({ client, nilExecutor, limit = MANIFEST_LIMIT }: WorkWebhookOptions): AdmissionHandlers {
  return {
    [WebhookPath.validateWork]: async (request, signal) =>
      workFlaw(request, limit) ??
      (await refusalTo(client, request.userInfo, executorRights(request, nilExecutor), signal)) ??
      consent,
  };
}
