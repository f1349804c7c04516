/** When to renew what runs out: well before it does, and not all agents of a fleet at once. */

/** A look once a day at least, so that a machine that slept does not miss the time. */
export const LONGEST_WAIT = 24 * 3_600_000;

/** Renewal comes when between a quarter and a fifth of the lifetime is left. */
const LATEST_SHARE = 0.2;
const SHARE_SPREAD = 0.05;

/** How much of a lifetime this agent leaves unused; the same for as long as it runs. */
export function renewalShare(random: () => number): number {
  return LATEST_SHARE + SHARE_SPREAD * random();
}

/**
 * When to ask for the next one, in milliseconds: as soon as only this share of the lifetime is left, but not before half
 * of what was left when it came. Signers date certificates back, and one of a minute would be old from the beginning.
 */
export function renewalTime(
  { notBefore, notAfter }: { notBefore: Date; notAfter: Date },
  share: number,
  cameAt = notBefore.getTime(),
): number {
  const end = notAfter.getTime();
  return Math.max(end - share * (end - notBefore.getTime()), (cameAt + end) / 2);
}
