/** What the apply engine tells of an installation, as one sentence for its condition. */
import { type ApplyReport, nameOf, type ObjectReport } from "#kube";

const IN_PLACE: ReadonlySet<ObjectReport["action"]> = new Set(["created", "updated", "unchanged", "skipped", "pruned"]);
/** Enough to act on; whoever mends these sees the next. */
const NAMED = 3;

/**
 * What keeps an installation from being complete; undefined when nothing does. What waits to be removed does not, nor
 * what waits for Deployments while they start.
 */
export function hindranceIn({ objects, problem }: ApplyReport, { isStarting = false } = {}): string | undefined {
  const missing = objects.filter(
    (object) => !IN_PLACE.has(object.action) && !isDeparted(object.reason) && !(isStarting && waitsForPods(object)),
  );
  if (missing.length === 0) return problem;
  const named = missing.slice(0, NAMED).map(({ id, message }) => `${nameOf(id)}: ${message}${hintFor(id)}`);
  const more = missing.length > NAMED ? `; and ${missing.length - NAMED} more` : "";
  return `${named.join("; ")}${more}`;
}

/** What an earlier wish brought and this one does not. */
export function departedIn({ objects }: ApplyReport): number {
  return objects.filter(({ reason }) => reason === "LeftTheSet" || reason === "Incomplete").length;
}

/** Webhooks wait for the Pods that answer them, and what they judge waits for both. */
function waitsForPods({ action, reason }: ObjectReport): boolean {
  return action === "waiting" && (reason === "WebhookUnbacked" || reason === "Prerequisite");
}

function isDeparted(reason: ObjectReport["reason"]): boolean {
  return reason === "LeftTheSet" || reason === "Incomplete" || reason === "Container";
}

/** Kinds that come with somebody else's product. */
function hintFor({ group }: ObjectReport["id"]): string {
  if (group.endsWith("istio.io")) return " (install Istio first, or choose another ingress in spec.ingress)";
  if (group === "gateway.networking.k8s.io") return " (install the Gateway API first)";
  return group.endsWith("cert-manager.io") ? " (install cert-manager first)" : "";
}
