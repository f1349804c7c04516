/** Which image a program is run from. */

/** What upstream's kinds name by default, and its command line fills in. */
const UPSTREAM = "quay.io/open-cluster-management/";

/**
 * The image that an object wishes, or our own where it wishes none or one of upstream's: those have other programs in
 * them, and the server fills them in where nobody has said anything.
 */
export function imageFor(wished: string | undefined, own: string): string {
  return wished === undefined || wished === "" || wished.startsWith(UPSTREAM) ? own : wished;
}
