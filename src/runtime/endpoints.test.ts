import { afterEach, describe, expect, it } from "vitest";
import { createRegistry } from "#lib/metrics";
import { type EndpointOptions, type Endpoints, serveEndpoints } from "./endpoints.ts";

let open: Endpoints | undefined;
afterEach(() => open?.close());

async function get(options: Omit<EndpointOptions, "port">, path: string, init: RequestInit = {}) {
  open = await serveEndpoints({ port: 0, ...options });
  const response = await fetch(`http://127.0.0.1:${open.port}${path}`, init);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

const fine = () => {};
const broken = async () => {
  throw new Error("the password is hunter2");
};

describe("health", () => {
  it.each([
    ["all is well", { a: fine }, "/healthz", 200, "ok"],
    ["nothing to check", {}, "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"],
    ["in detail", { b: fine, a: fine }, "/healthz?verbose", 200, "[+]a ok\n[+]b ok\nhealthz check passed\n"],
    [
      "something is wrong",
      { a: fine, b: broken },
      "/healthz",
      500,
      "[+]a ok\n[-]b failed: reason withheld\nhealthz check failed\n",
    ],
    ["what is wrong does not count", { a: fine, b: broken }, "/healthz?exclude=b", 200, "ok"],
    [
      "excluded in detail, and something unknown",
      { b: broken },
      "/healthz?verbose&exclude=b&exclude=c",
      200,
      '[+]b excluded: ok\nwarn: some health checks cannot be excluded: no matches for "c"\nhealthz check passed\n',
    ],
    ["one of them", { a: fine }, "/healthz/a", 200, "ok"],
    ["one that fails", { a: broken }, "/healthz/a", 500, "internal server error: reason withheld\n"],
    ["one that is not", { a: fine }, "/healthz/b", 404, "404 page not found\n"],
    ["somewhere else", { a: fine }, "/elsewhere", 404, "404 page not found\n"],
  ])("%s", async (_, healthz, path, status, text) => {
    expect(await get({ healthz }, path)).toMatchObject({ status, text });
  });

  it("is plain text that no browser takes for something else", async () => {
    const { headers } = await get({}, "/readyz");
    expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("and readiness are two things", async () => {
    expect(await get({ healthz: { a: broken }, readyz: { b: fine } }, "/readyz")).toMatchObject({ status: 200 });
  });

  it("cannot be changed from outside", async () => {
    expect(await get({}, "/healthz", { method: "POST" })).toMatchObject({ status: 405 });
  });
});

describe("metrics", () => {
  it("are shown as text", async () => {
    const registry = createRegistry();
    registry.counter({ name: "things_total", help: "Things." }).increment({}, 3);
    const { status, text, headers } = await get({ registry }, "/metrics");
    expect([status, text]).toEqual([200, "# HELP things_total Things.\n# TYPE things_total counter\nthings_total 3\n"]);
    expect(headers.get("content-type")).toContain("version=0.0.4");
  });

  it("are not there unless given", async () => {
    expect(await get({}, "/metrics")).toMatchObject({ status: 404 });
  });
});

it("says why it cannot listen", async () => {
  open = await serveEndpoints({ port: 0 });
  await expect(serveEndpoints({ port: open.port })).rejects.toThrow("EADDRINUSE");
});
