/** Long work lets others have their turn. */
import { setImmediate } from "node:timers/promises";

/** How long decoding and filling may hold the event loop. */
const LONGEST_TURN = 10;

/** Ask `due` often and await `pause` when it is; timers, signals and other streams then get through. */
export class Breath {
  #since = performance.now();

  get due(): boolean {
    return performance.now() - this.#since >= LONGEST_TURN;
  }

  async pause(): Promise<void> {
    await setImmediate();
    this.#since = performance.now();
  }
}
