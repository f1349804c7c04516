/** Sentences that several commands say: what conditions tell, and what there is instead of what was named. */
import type { Condition } from "#api/meta";
import { didYouMean } from "#lib/suggestion";

/** What an object waits for, after `waiting for …`: its own words where it has them. */
export function awaited(what: string, condition: Condition | undefined, unsaid: string): string {
  const said = condition?.message || condition?.reason || unsaid;
  const [, itself] = /^Waiting for (.+)$/s.exec(said) ?? [];
  return itself ?? `${what}: ${said}`;
}

/** So many names are worth reading. */
const NAMED = 8;

/** `(there is a, b and 12 more; did you mean b?)`: after a sentence that says there is no such thing. */
export function insteadOf(wanted: string, names: readonly string[]): string {
  const sorted = [...names].sort();
  const more = sorted.length > NAMED ? ` and ${sorted.length - NAMED} more` : "";
  const meant = didYouMean(wanted, sorted).replace(/^ \((.*)\)$/, "; $1");
  return `(there is ${sorted.slice(0, NAMED).join(", ") || "none"}${more}${meant})`;
}
