import { expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManualClock } from "#lib/clock";
import { AgentStage } from "../../../../test/support/agent-stage.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** A month takes half a minute of work, and more on a machine that others work on too. */
const LONGEST = 10 * MINUTE;
/** A clock that goes from one thing that is due to the next. */
class LeapingClock extends ManualClock {
  readonly #due = new Map<symbol, number>();

  override after(ms: number, task: () => void): () => void {
    const id = Symbol();
    this.#due.set(id, this.now().getTime() + ms);
    const cancel = super.after(ms, () => {
      this.#due.delete(id);
      task();
    });
    return () => {
      this.#due.delete(id);
      cancel();
    };
  }

  /** Whatever is due within the step comes at its end, which can only make gaps longer. */
  leap(leastStep: number): void {
    const now = this.now().getTime();
    const next = Math.min(...this.#due.values());
    this.advance(Math.max(next - now, leastStep));
  }
}

it.each<[why: string, course: Course]>([
  ["certificates of an hour for a month", { life: 60 * MINUTE, time: 30 * DAY, lease: 10 * MINUTE, step: 300_000 }],
  ["certificates of five minutes for a day", { life: 5 * MINUTE, time: DAY, lease: MINUTE, step: 20_000 }],
])(
  "%s: all are renewed in time, and no beat comes later than twice the lease",
  async (_, course) => {
    const { life, time, lease, step } = course;
    const clock = new LeapingClock("2026-01-01T00:00:00Z");
    const stage = new AgentStage({ clock, certificateMs: life });
    const claims = { claims: false, properties: false };
    stage.start({ leaseDurationSeconds: lease / 1000, random: numbers(), claims });
    await stage.join();
    await stage.settle(); // before time goes on, the next beat must have been thought of

    const end = clock.now().getTime() + time;
    let [last, longest, beats, renewals] = [clock.now().getTime(), 0, 0, 0];
    while (clock.now().getTime() < end) {
      clock.leap(step);
      await turns(6);
      if (stage.requests().some(({ status }) => !status)) {
        renewals++;
        const answered = stage.requests().filter(({ status }) => status);
        // A hub forgets requests that were answered long ago.
        for (const { metadata } of answered) stage.hub.drop(CertificateSigningRequest, metadata.name);
        stage.sign();
        await turns(25);
      }
      for (const { kind } of stage.hub.writes.splice(0)) {
        if (kind !== "Lease") continue;
        const now = clock.now().getTime();
        longest = Math.max(longest, now - last);
        last = now;
        beats++;
      }
    }
    await stage.stop();

    expect(longest).toBeLessThanOrEqual(2 * lease);
    expect(beats).toBeGreaterThan(time / (1.5 * lease));
    // Nothing less than a fifth of its life before its end, each by the agent itself, and under one name.
    expect(renewals).toBeGreaterThan(time / life);
    expect(stage.connections.filter((text) => text.includes("bootstrap-token"))).toHaveLength(1);
  },
  LONGEST,
);

interface Course {
  readonly life: number;
  readonly time: number;
  readonly lease: number;
  /** Time goes on in no smaller steps. */
  readonly step: number;
}

/** Any numbers do, as long as they are the same in every run. */
function numbers(): () => number {
  let last = 1;
  return () => {
    last = (last * 16_807) % 2_147_483_647;
    return last / 2_147_483_647;
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
