/** Since when the managed cluster of a Klusterlet that goes cannot be reached; kept on the Klusterlet itself. */
import { type Klusterlet, OperatorAnnotation } from "#api/operator";
import { withAnnotations } from "#lib/meta";

export function evictionOf({ metadata }: Klusterlet): Date | undefined {
  const noted = Date.parse(metadata.annotations?.[OperatorAnnotation.evictionTimestamp] ?? "");
  return Number.isNaN(noted) ? undefined : new Date(noted);
}

export function withEviction(klusterlet: Klusterlet, since: string): Klusterlet {
  return withAnnotations(klusterlet, { [OperatorAnnotation.evictionTimestamp]: since });
}
