/** An answer beside its recording, both without what may differ. */
import type { Reply } from "../../support/raw.ts";
import { CHANGES } from "./differences.ts";
import { inOrder, normal, withoutProse } from "./normal.ts";
import type { Recording } from "./recordings.ts";
import type { Replayed } from "./replay.ts";

export interface Answer {
  readonly status?: number | null | undefined;
  readonly type?: string | undefined;
  readonly retryAfter?: string | undefined;
  readonly warned?: boolean;
  readonly body?: unknown;
}

export interface Comparison {
  readonly ours: Answer;
  /** What 1.36 would have answered. */
  readonly theirs: Answer;
}

const changes = new Map(CHANGES.map(({ at, before }) => [at, before]));

/** Longer texts were cut off when they were recorded. */
const LONGEST_TEXT = 400;

export function compared(recording: Recording, replayed: Replayed): Comparison {
  const { ours, theirs } = recordedAndReplayed(recording, replayed);
  const before = changes.get(recording.id);
  return { ours: ordered(ours), theirs: ordered(before ? before(theirs) : theirs) };
}

function recordedAndReplayed(recording: Recording, { events, reply }: Replayed): Comparison {
  const { status, response, responseContentType, retryAfter, warning } = recording;
  if (events) return { ours: { body: comparable(events) }, theirs: { body: comparable(recording.events) } };
  const isText =
    typeof response === "string" && reply?.headers["content-type"]?.startsWith("application/json") === false;
  const isOmitted = typeof response === "string" && response.startsWith("[omitted");
  return {
    ours: {
      status: reply?.code,
      type: reply?.headers["content-type"],
      retryAfter: reply?.headers["retry-after"],
      warned: reply?.headers.warning !== undefined,
      body: isOmitted ? "" : isText ? comparableText(reply?.text ?? "") : comparable(bodyOf(reply)),
    },
    theirs: {
      status,
      type: responseContentType,
      retryAfter: retryAfter ?? undefined,
      warned: Boolean(warning),
      body: isOmitted ? "" : isText ? comparableText(response) : comparable(response),
    },
  };
}

/** Clients read only what is called plain JSON; key sets have a type of their own. */
function bodyOf(reply: Reply | undefined): unknown {
  return reply?.headers["content-type"]?.endsWith("+json") ? JSON.parse(reply.text) : reply?.body;
}

function comparable(value: unknown): unknown {
  return withoutProse(normal(value));
}

/** A certificate goes on beyond where the recordings end. */
function comparableText(text: string): string {
  return text.slice(0, LONGEST_TEXT).replace(/-----BEGIN CERTIFICATE-----.*/s, "<certificate>");
}

function ordered(answer: Answer): Answer {
  return { ...answer, body: inOrder(answer.body) };
}
