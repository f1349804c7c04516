/** What conditions say, fitted into our own sentences. */
import type { Condition } from "#api/meta";

/** What an object waits for, after `waiting for …`: its own words where it has them. */
export function awaited(what: string, condition: Condition | undefined, unsaid: string): string {
  const said = condition?.message || condition?.reason || unsaid;
  const [, itself] = /^Waiting for (.+)$/s.exec(said) ?? [];
  return itself ?? `${what}: ${said}`;
}
