import { describe, expect, it } from "vitest";
import { DirectLink, type DirectServer } from "./direct-link.ts";
import { LinkError, type TransportResponse } from "./link.ts";

const GET = { method: "GET", path: "/version", headers: {} };

/** An answer that says `hello` and goes on until somebody leaves. */
const endless: DirectServer = {
  async ask(_, signal) {
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from("hello");
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      throw new Error("the reader left");
    }
    return { status: 200, headers: {}, body: body(), cancel() {} };
  },
};

async function failureOf(reading: Promise<unknown>): Promise<unknown> {
  return reading.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function rest({ body }: TransportResponse): Promise<void> {
  for await (const _ of body);
}

describe("a link to a server in the same process", () => {
  it("hands on what the server answers", async () => {
    const link = new DirectLink({
      async ask({ path }) {
        async function* body() {
          yield Buffer.from(path);
        }
        return { status: 200, headers: { "content-type": "text/plain" }, body: body(), cancel() {} };
      },
    });
    const { status, headers, body } = await link.send(GET, new AbortController().signal);
    expect([status, headers]).toEqual([200, { "content-type": "text/plain" }]);
    for await (const chunk of body) expect(chunk.toString()).toBe("/version");
  });

  it("fails with the reason of the signal, before the answer and while it is read", async () => {
    const reason = new Error("enough");
    expect(await failureOf(new DirectLink(endless).send(GET, AbortSignal.abort(reason)))).toBe(reason);
    const stop = new AbortController();
    const answer = await new DirectLink(endless).send(GET, stop.signal);
    const reading = failureOf(rest(answer));
    stop.abort(reason);
    expect(await reading).toBe(reason);
  });

  it("fails as a server that cannot be reached where there is no answer", async () => {
    const closed: DirectServer = { ask: () => Promise.reject(new Error("cluster a is closed")) };
    const failure = await failureOf(new DirectLink(closed).send(GET, new AbortController().signal));
    expect(failure).toBeInstanceOf(LinkError);
    expect(failure).toMatchObject({ failure: "unreachable", message: "no answer: cluster a is closed" });
  });

  it("fails as a lost connection where the answer breaks off", async () => {
    const broken: DirectServer = {
      async ask() {
        async function* body(): AsyncGenerator<Buffer> {
          yield Buffer.from("half");
          throw new Error("the server broke off its answer");
        }
        return { status: 200, headers: {}, body: body(), cancel() {} };
      },
    };
    const answer = await new DirectLink(broken).send(GET, new AbortController().signal);
    expect(await failureOf(rest(answer))).toMatchObject({ failure: "lost" });
  });

  it("ends everything when it is destroyed", async () => {
    const link = new DirectLink(endless);
    const answer = await link.send(GET, new AbortController().signal);
    const reading = failureOf(rest(answer));
    const failure = new LinkError("closed", "the client was closed");
    link.destroy(failure);
    expect(await reading).toBe(failure);
  });
});
