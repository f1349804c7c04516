/** Rulings about single requests as answers to the reviews that they come in. */
import type { AdmissionRequest } from "#api/admission";
import type { Logger } from "#lib/log";
import { answerText, readReview } from "./review.ts";
import { type Ruling, undecided } from "./ruling.ts";
import type { ReviewHandlers } from "./server.ts";

/** Rules about one request; the signal fires when nobody waits for the answer any more. */
export type AdmissionHandler = (request: AdmissionRequest, signal: AbortSignal) => Ruling | Promise<Ruling>;

/** By the path that they answer under. */
export type AdmissionHandlers = Readonly<Record<string, AdmissionHandler>>;

export function admissionReviews(handlers: AdmissionHandlers, log: Logger): ReviewHandlers {
  return Object.fromEntries(
    Object.entries(handlers).map(([path, handler]) => [
      path,
      async (text: string, signal: AbortSignal) => {
        const question = readReview(text);
        return answerText(question, await ruled(() => handler(question.request, signal), path, signal, log));
      },
    ]),
  );
}

/** Whoever cannot find out does not let anything in. */
async function ruled(
  rule: () => Ruling | Promise<Ruling>,
  path: string,
  signal: AbortSignal,
  log: Logger,
): Promise<Ruling> {
  try {
    return await rule();
  } catch (error) {
    if (!signal.aborted) log.warn("a webhook cannot decide", { path, error });
    return undecided("the webhook could not find out whether this may be; try again, and see its log");
  }
}
