import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { readBody } from "./body.ts";

/** A request whose body is sent by hand. */
function slowRequest(): IncomingMessage & Readable {
  return Object.assign(new Readable({ read() {} }), { complete: false }) as unknown as IncomingMessage & Readable;
}

describe("reading a body", () => {
  it("waits for all of it", async () => {
    const request = slowRequest();
    const body = readBody(request, new ManualClock());
    request.push("a");
    request.push("b");
    request.push(null);
    expect((await body).toString()).toBe("ab");
  });

  it("gives up on one that does not end, because it holds a place that others wait for", async () => {
    const clock = new ManualClock();
    const request = slowRequest();
    const body = readBody(request, clock);
    request.push("a");
    clock.advance(60_000);
    await expect(body).rejects.toMatchObject({ code: 504, status: { reason: "Timeout" } });
  });

  it("refuses one that is cut off", async () => {
    const request = slowRequest();
    const body = readBody(request, new ManualClock());
    request.push("a");
    request.destroy();
    await expect(body).rejects.toMatchObject({ code: 400 });
  });
});
