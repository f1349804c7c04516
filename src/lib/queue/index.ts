/**
 * What to work on next: a queue that holds every item once, never hands one out twice at a time, lets the
 * urgent overtake, lets groups take turns and makes the failing wait longer and longer. It knows only its clock, so that the
 * controllers of the runtime and those of the embedded API server share it.
 */
export { type Backoff, backoffDelay, DEFAULT_BACKOFF } from "./backoff.ts";
export {
  type AddOptions,
  createQueue,
  Priority,
  type Queue,
  type QueueObserver,
  type QueueOptions,
  type RequeueOptions,
  type Taken,
} from "./queue.ts";
