/** Which features of webhooks are on. */
import type { WebhookProgram } from "#api/operator";
import { HubGates, HubWorkGates } from "#features/operator/kit";
import { gatesIn } from "./gates.ts";
import type { WebhookGates } from "./webhooks.ts";

const GATES: WebhookGates = {
  DefaultClusterSet: HubGates.DefaultClusterSet ?? true,
  NilExecutorValidating: HubWorkGates.NilExecutorValidating ?? false,
};

/** Each program has its own. Throws UsageError, which names those that there are. */
export function parseWebhookGates(program: WebhookProgram, text: string | undefined): WebhookGates {
  if (text === undefined) return GATES;
  const { DefaultClusterSet, NilExecutorValidating } = GATES;
  const own = program === "work" ? { NilExecutorValidating } : { DefaultClusterSet };
  return { ...GATES, ...gatesIn<Record<string, boolean>>(text, own) };
}
