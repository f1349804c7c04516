/**
 * For programs that run on every cluster of a fleet, where memory counts for more than the last bit of speed. V8 doubles
 * the space for new objects again and again, up to 16 MB in each of three places, and gives little of it back; an agent
 * of a thousand works needs none of that, and uses no more processor time without.
 */
import { setFlagsFromString } from "node:v8";

/** Before the rest of the program is loaded: loading it makes the space grow. */
export function spareMemory(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}
