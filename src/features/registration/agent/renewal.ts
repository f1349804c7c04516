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

/** When to ask for the next one, in milliseconds: as soon as only this share of the lifetime is left. */
export function renewalTime({ notBefore, notAfter }: { notBefore: Date; notAfter: Date }, share: number): number {
  return notAfter.getTime() - share * (notAfter.getTime() - notBefore.getTime());
}
