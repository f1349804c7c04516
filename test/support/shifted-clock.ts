import { type Clock, systemClock } from "#lib/clock";

/** The machine's clock, off by so many milliseconds as the test says. */
export class ShiftedClock implements Clock {
  shift: number;

  constructor(shift = 0) {
    this.shift = shift;
  }

  now(): Date {
    return new Date(systemClock.now().getTime() + this.shift);
  }

  after(ms: number, task: () => void): () => void {
    return systemClock.after(ms, task);
  }
}
