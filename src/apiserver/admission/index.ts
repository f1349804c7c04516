/**
 * What stands between a request that is understood and its write: rules of the server that no kind can decide for
 * itself, and then whoever outside wants a say, by a configuration of webhooks.
 */
import type { Authorizer } from "../auth/index.ts";
import type { Admission } from "../registry/index.ts";
import { serverRules } from "./server-rules.ts";
import { type AskedWebhooks, askWebhooks, type WebhookAdmissionOptions } from "./webhook-admission.ts";

export interface RunningAdmission extends Admission {
  /** The same rules, without anybody outside being asked: for what the server does to itself. */
  readonly alone: Admission;
  /** Stops following configurations. */
  close(): void;
}

export function createAdmission(
  options: Omit<WebhookAdmissionOptions, "authorize"> & { readonly authorizer: Authorizer },
): RunningAdmission {
  const { authorizer } = options;
  const rules = serverRules(authorizer);
  const asked: AskedWebhooks = askWebhooks({ ...options, authorize: (attributes) => authorizer.authorize(attributes) });
  return {
    ...rules,
    webhooks: (target, operation) => asked.webhooks(target, operation),
    alone: { ...rules, webhooks: () => undefined },
    close: () => asked.close(),
  };
}
