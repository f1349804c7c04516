/** One question to one webhook: who is called how long, what counts as an answer, and what else is said with it. */
import type { AdmissionRequest } from "#api/admission";
import type { Status } from "#api/meta";
import { ApiError, badRequest, timedOut } from "../errors.ts";
import type { RequestContext } from "../resource.ts";
import {
  admissionReview,
  type Called,
  CallFailure,
  InvalidAnswer,
  reviewVersion,
  type Verdict,
  verdictOf,
  type WebhookCaller,
} from "../webhooks/index.ts";
import type { Hook } from "./configurations.ts";

/** The webhook could not be asked or gave no answer; what follows from that is for its policy to say. */
export class HookFailure extends Error {
  override readonly name = "HookFailure";
}

export interface HookCall {
  readonly hook: Hook;
  readonly request: AdmissionRequest;
  readonly isMutating: boolean;
  /** How many milliseconds the whole request has left. */
  readonly remainingMs: number;
  readonly context: RequestContext;
}

const DEFAULT_SECONDS = 10;
const LARGEST_ANSWER = 3 * 1024 * 1024;
/** A webhook has a say in the audit log, and does not fill it. */
const MOST_REMARKS = 32;
const LONGEST_REMARK = 10 * 1024;

/** What the webhook says, unless it refuses. Throws ApiError when it does, and HookFailure when it says nothing. */
export async function ask(caller: WebhookCaller, call: HookCall): Promise<Verdict> {
  const { hook, request, isMutating, remainingMs, context } = call;
  const { name, sideEffects, admissionReviewVersions, timeoutSeconds = DEFAULT_SECONDS } = hook.webhook;
  if (context.dryRun && sideEffects !== "None" && sideEffects !== "NoneOnDryRun") {
    throw badRequest(`admission webhook ${JSON.stringify(name)} does not support dry run`);
  }
  if (remainingMs <= 0) throw timedOut("request did not complete within requested timeout");
  const version = reviewVersion(admissionReviewVersions);
  if (!version) {
    throw new HookFailure(
      "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)",
    );
  }
  const limits = { timeoutMs: Math.min(timeoutSeconds * 1000, remainingMs), largest: LARGEST_ANSWER };
  const verdict = await understood(async () => {
    const called = await caller.call(hook.webhook.clientConfig, admissionReview(version, request), limits);
    return "answer" in called
      ? verdictOf({ version, uid: request.uid, isMutating }, called.answer)
      : simulatedVerdict(called, hook, context);
  });
  for (const [key, value] of Object.entries(verdict.auditAnnotations).slice(0, MOST_REMARKS)) {
    context.annotate?.(`${name}/${key.slice(0, LONGEST_REMARK)}`, value.slice(0, LONGEST_REMARK));
  }
  for (const text of verdict.warnings) context.warn(text);
  if (!verdict.allowed) throw denial(name, verdict.status);
  return verdict;
}

async function understood(conversation: () => Promise<Verdict>): Promise<Verdict> {
  try {
    return await conversation();
  } catch (error) {
    if (!(error instanceof CallFailure)) throw error;
    const what = error instanceof InvalidAnswer ? "received invalid webhook response" : "failed to call webhook";
    throw new HookFailure(`${what}: ${error.message}`, { cause: error });
  }
}

/** Nobody runs who could answer, and the Service says how to go on without. */
function simulatedVerdict(
  { simulated, service }: Extract<Called, { simulated: unknown }>,
  { webhook }: Hook,
  { annotate }: RequestContext,
): Verdict {
  const why = `all Pods behind Service ${service} are simulated`;
  annotate?.(`${webhook.name}/simulated`, `${simulated === "allow" ? "allowed" : "denied"}, because ${why}`);
  return { allowed: simulated === "allow", status: { message: why }, warnings: [], auditAnnotations: {} };
}

function denial(name: string, { code = 0, reason, message, details }: Partial<Status>): ApiError {
  const denied = `admission webhook ${JSON.stringify(name)} denied the request`;
  const why = message || reason;
  const text = why ? `${denied}: ${why}` : `${denied} without explanation`;
  return new ApiError(code >= 400 ? code : 400, reason, text, details);
}
