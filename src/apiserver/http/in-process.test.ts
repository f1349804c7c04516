import { describe, expect, it } from "vitest";
import { askInProcess, type LocalAnswer, type LocalRequest } from "./in-process.ts";
import type { Handle, Response } from "./messages.ts";

const caller = { remoteAddress: "127.0.0.1", getPeerX509Certificate: () => ({ raw: Buffer.from("certificate") }) };
const GET: LocalRequest = { method: "GET", path: "/x?y=z", headers: { accept: "text/plain" } };

const ask = (handle: Handle, request: LocalRequest = GET, signal = new AbortController().signal) =>
  askInProcess(handle, caller, request, signal);

async function textOf({ body }: LocalAnswer): Promise<string> {
  let text = "";
  for await (const chunk of body) text += chunk;
  return text;
}

describe("a request from the same process", () => {
  it("shows the server what a connection would", async () => {
    const answer = await ask((request, response) => {
      const { method, url, headers, socket, complete } = request;
      const certificate = socket?.getPeerX509Certificate?.()?.raw.toString();
      response.end(JSON.stringify({ method, url, headers, complete, address: socket?.remoteAddress, certificate }));
    });
    expect(JSON.parse(await textOf(answer))).toEqual({
      method: "GET",
      url: "/x?y=z",
      headers: { accept: "text/plain" },
      complete: true,
      address: "127.0.0.1",
      certificate: "certificate",
    });
  });

  it("brings its body, or the end of none", async () => {
    const echo: Handle = (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => chunks.push(chunk));
      request.once("end", () => response.end(Buffer.concat(chunks)));
    };
    expect(await textOf(await ask(echo, { ...GET, method: "POST", body: Buffer.from("hello") }))).toBe("hello");
    expect(await textOf(await ask(echo))).toBe("");
  });
});

describe("an answer to the same process", () => {
  it("has code and headers before it has a body", async () => {
    let response: Response | undefined;
    const answer = await ask((_, made) => {
      response = made;
      made.statusCode = 201;
      made.setHeader("Audit-Id", "1");
      made.flushHeaders();
    });
    expect([answer.status, answer.headers]).toEqual([201, { "audit-id": "1" }]);
    response?.write("a");
    response?.end("b");
    expect(await textOf(answer)).toBe("ab");
  });

  it("is over for the server when it has ended it", async () => {
    const events: string[] = [];
    const answer = await ask((_, response) => {
      response.once("finish", () => events.push("finish"));
      response.once("close", () => events.push("close"));
      response.end("x");
    });
    await textOf(answer);
    expect(events).toEqual(["finish", "close"]);
  });

  it("asks the writer to pause while nobody reads, and to go on when somebody does", async () => {
    let response: Response | undefined;
    let drained = 0;
    const answer = await ask((_, made) => {
      response = made;
      made.on("drain", () => {
        drained++;
        made.end();
      });
      made.flushHeaders();
    });
    expect(response?.write(Buffer.alloc(1024))).toBe(true);
    expect(response?.write(Buffer.alloc(128 * 1024))).toBe(false);
    expect(drained).toBe(0);
    expect(await textOf(answer)).toHaveLength(129 * 1024);
    expect(drained).toBe(1);
  });

  it("that the server breaks off throws, before it began and after", async () => {
    await expect(ask((_, response) => response.destroy())).rejects.toThrow("before it answered");
    const answer = await ask((_, response) => {
      response.write("a");
      response.destroy();
    });
    await expect(textOf(answer)).rejects.toThrow("broke off");
  });

  it.each<[how: string, leave: (answer: LocalAnswer, stop: AbortController) => unknown]>([
    ["cancels", (answer) => answer.cancel()],
    ["has its signal fired", (_, stop) => stop.abort()],
    ["stops reading", (answer) => answer.body[Symbol.asyncIterator]().return?.()],
  ])("is given up when the reader %s, and the server learns it", async (_, leave) => {
    const stop = new AbortController();
    let response: Response | undefined;
    const closed = new Promise<void>((resolve) => {
      ask(
        (_request, made) => {
          response = made;
          made.once("close", resolve);
          made.write("a");
        },
        GET,
        stop.signal,
      ).then(async (answer) => {
        await answer.body[Symbol.asyncIterator]().next();
        await leave(answer, stop);
      });
    });
    await closed;
    expect(response?.destroyed).toBe(true);
    expect(response?.write("b")).toBe(false);
  });
});
