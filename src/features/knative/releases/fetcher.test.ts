import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { isAllowedAddress, problemOfUrl } from "./addresses.ts";
import { createManifestFetcher, type ManifestFetcher, type ManifestFetcherOptions } from "./fetcher.ts";

let server: Server;
let base: string;
let dir: string;
let asked: string[] = [];
let content = "kind: A\n";

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    if (path === "/moved") response.writeHead(302, { location: "/a.yaml" }).end();
    else if (path === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (path === "/inward") response.writeHead(302, { location: "http://127.0.0.2:1/secret" }).end();
    else if (path === "/file") response.writeHead(302, { location: "file:///etc/passwd" }).end();
    else if (path === "/large") response.end("x".repeat(2000));
    else if (path === "/bytes") response.end(Buffer.from([0xc3, 0x28]));
    else if (path === "/silent") response.flushHeaders();
    else if (path === "/broken")
      response.writeHead(200, { "content-length": "100" }).write("a", () => response.destroy());
    else if (path === "/a.yaml") response.end(content);
    else response.writeHead(404).end("nothing here");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
beforeEach(async () => {
  asked = [];
  content = "kind: A\n";
  dir = await mkdtemp(join(tmpdir(), "capstan-fetcher-"));
  return () => rm(dir, { recursive: true, force: true });
});

const fetcher = (options: Partial<ManifestFetcherOptions> = {}): ManifestFetcher =>
  createManifestFetcher({ dir, allowHosts: ["127.0.0.1"], ...options });

describe("a manifest by URL", () => {
  it("is asked for once, and kept for those who come later", async () => {
    const first = await fetcher().pull(`${base}/a.yaml`);
    expect(first).toMatchObject({ name: `${base}/a.yaml`, text: "kind: A\n", isNew: true });
    expect(await fetcher().pull(`${base}/a.yaml`)).toEqual({ ...first, isNew: false });
    expect(asked).toEqual(["/a.yaml"]);
  });

  it("is asked for once when many want it at once", async () => {
    const one = fetcher();
    await Promise.all([1, 2, 3].map(() => one.pull(`${base}/a.yaml`)));
    expect(asked).toEqual(["/a.yaml"]);
  });

  it("means what it gave at first, until somebody says otherwise", async () => {
    const { sha256 } = await fetcher().pull(`${base}/a.yaml`);
    content = "kind: B\n";
    expect((await fetcher().pull(`${base}/a.yaml`)).text).toBe("kind: A\n");
    const renewed = await fetcher().pull(`${base}/a.yaml`, { refresh: true });
    expect(renewed.text).toBe("kind: B\n");
    expect(renewed.sha256).not.toBe(sha256);
    expect((await fetcher().pull(`${base}/a.yaml`)).text).toBe("kind: B\n");
  });

  const kept = async (extension: string) =>
    join(dir, (await readdir(dir)).find((name) => name.endsWith(extension)) ?? "");

  it("is fetched again when its file is damaged, and must be what it was", async () => {
    await fetcher().pull(`${base}/a.yaml`);
    await writeFile(await kept(".yaml"), "kind: Evil\n");
    expect(await fetcher().pull(`${base}/a.yaml`)).toMatchObject({ text: "kind: A\n", isNew: true });
    await rm(await kept(".yaml"));
    content = "kind: B\n";
    await expect(fetcher().pull(`${base}/a.yaml`)).rejects.toThrow(
      /it was sha256:\w+ when it was first read, and is sha256:\w+ now/,
    );
    expect(await readdir(dir)).toHaveLength(1);
  });

  it("is not guessed when what is known about it is damaged", async () => {
    await fetcher().pull(`${base}/a.yaml`);
    await writeFile(await kept(".json"), "{");
    await expect(fetcher().pull(`${base}/a.yaml`)).rejects.toThrow(
      "remove it to read the URL as if for the first time",
    );
    expect(await readFile(await kept(".yaml"), "utf8")).toBe("kind: A\n");
  });

  it("may be moved, step by step", async () => {
    expect((await fetcher().pull(`${base}/moved`)).text).toBe("kind: A\n");
    expect(asked).toEqual(["/moved", "/a.yaml"]);
  });

  it.each<[string, RegExp, Partial<ManifestFetcherOptions>?]>([
    ["/loop", /more than 5 times/],
    ["/inward", /without encryption|127\.0\.0\.2 is an address of this machine/],
    ["/file", /file: is not read/],
    ["/missing", /answers 404 Not Found/],
    ["/large", /larger than 1000 bytes/, { maxBytes: 1000 }],
    ["/bytes", /not valid UTF-8/],
    ["/silent", /took longer than 0.05 s/, { timeoutMs: 50 }],
    ["/broken", /aborted|broke off/],
  ])("at %s is refused: %s", async (path, problem, options) => {
    await expect(fetcher(options).pull(`${base}${path}`)).rejects.toThrow(problem);
    expect(await readdir(dir)).toEqual([]);
  });

  it("is not asked for on this machine unless the host is allowed", async () => {
    const secure = base.replace("http:", "https:");
    const port = new URL(base).port;
    await expect(fetcher({ allowHosts: [] }).pull(`${secure}/a.yaml`)).rejects.toThrow(
      "allow the host if that is meant",
    );
    await expect(fetcher({ allowHosts: [] }).pull(`https://localhost:${port}/a.yaml`)).rejects.toThrow(
      /localhost: \S+ is an address of this machine/,
    );
    await expect(fetcher({ allowHosts: [`127.0.0.1:${port}`] }).pull(`${base}/a.yaml`)).resolves.toBeDefined();
    expect(asked).toEqual(["/a.yaml"]);
  });
});

describe("addresses", () => {
  it.each([
    ["10.0.0.1", true],
    ["192.168.1.1", true],
    ["8.8.8.8", true],
    ["2001:db8::1", true],
    ["fd12::1", true],
    ["127.0.0.1", false],
    ["127.8.9.1", false],
    ["0.0.0.0", false],
    ["169.254.169.254", false],
    ["224.0.0.1", false],
    ["::1", false],
    ["::", false],
    ["fe80::1", false],
    ["fd00:ec2::254", false],
    ["::ffff:127.0.0.1", false],
    ["nonsense", false],
  ])("%s may be asked: %s", (address, allowed) => {
    expect(isAllowedAddress(address)).toBe(allowed);
  });

  it.each([
    ["https://example.com/a", undefined],
    ["https://[::1]/a", "::1 is an address of this machine"],
    ["https://2130706433/a", "127.0.0.1 is an address of this machine"],
    ["http://example.com/a", "without encryption"],
    ["ftp://example.com/a", "ftp: is not read"],
    ["https://me:secret@example.com/a", "it holds credentials"],
  ])("%s: %s", (url, problem) => {
    const found = problemOfUrl(new URL(url), []);
    if (problem === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(problem);
    expect(found ?? "").not.toContain("secret");
  });

  it("may be vouched for with or without a port", () => {
    expect(problemOfUrl(new URL("http://mirror:8080/a"), ["mirror"])).toBeUndefined();
    expect(problemOfUrl(new URL("http://mirror:8080/a"), ["mirror:8080"])).toBeUndefined();
    expect(problemOfUrl(new URL("http://mirror:9090/a"), ["mirror:8080"])).toContain("without encryption");
    expect(problemOfUrl(new URL("http://[::1]:1/a"), ["::1"])).toBeUndefined();
  });
});
