import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, connect as connectTcp, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { kind } from "#api/meta";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import { type Connection, createClient, KubeError } from "../index.ts";
import { type ScriptedServerOptions, scriptedServer } from "../testing/scripted-server.ts";

const Widget = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: false });
const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Proxy {
  url: string;
  /** `host:port authorization` of every connection that was asked for. */
  asked: string[];
}

/** A proxy that connects, or that answers with another status; one with a certificate is asked in secret. */
async function startProxy(status = 200, tls?: { readonly key: string; readonly cert: string }): Promise<Proxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const server: Server = tls ? createSecureServer(tls) : createServer();
  server.on("connect", (request, near: Socket) => {
    asked.push(`${request.url} ${request.headers["proxy-authorization"] ?? ""}`.trim());
    if (status !== 200) {
      near.end(`HTTP/1.1 ${status} No\r\n\r\nhush`);
      return;
    }
    const [host, port] = (request.url ?? "").split(":");
    const far = connectTcp(Number(port), host, () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `${tls ? "https" : "http"}://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

async function serve(options?: ScriptedServerOptions): Promise<Connection> {
  const server = await scriptedServer((request) => request.reply(200, widget), options);
  cleanups.push(() => server.stop());
  return server.connection;
}

async function read(connection: Connection): Promise<KubeError | undefined> {
  const client = createClient({ connection });
  cleanups.push(() => client.close());
  try {
    expect((await client.get(Widget, "a")).metadata.name).toBe("a");
    return undefined;
  } catch (error) {
    if (error instanceof KubeError) return error;
    throw error;
  }
}

describe("a proxy", () => {
  it.each(["h2", "http/1.1"] as const)(
    "is asked for a connection, on which %s is spoken with the server",
    async (protocol) => {
      const connection = await serve({ protocol });
      const proxy = await startProxy();
      expect(await read({ ...connection, proxy: proxy.url })).toBeUndefined();
      expect(proxy.asked).toEqual([new URL(connection.server).host]);
    },
  );

  it("is told the name and the password in its URL", async () => {
    const connection = await serve();
    const proxy = await startProxy();
    await read({ ...connection, proxy: proxy.url.replace("//", "//me:p%40ss@") });
    const basic = `Basic ${Buffer.from("me:p@ss").toString("base64")}`;
    expect(proxy.asked).toEqual([`${new URL(connection.server).host} ${basic}`]);
  });

  it("that is asked in secret must be vouched for by the authorities that the connection has", async () => {
    const connection = await serve();
    const now = new Date();
    const authority = createCertificateAuthority({ commonName: "proxies", now });
    const { privateKey, publicKey } = generateKeyPair();
    const cert = issueCertificate({
      ca: authority,
      subject: { commonName: "proxy" },
      publicKey,
      usages: ["server auth", "digital signature"],
      ipAddresses: ["127.0.0.1"],
      notBefore: new Date(now.getTime() - 60_000),
      notAfter: new Date(now.getTime() + 3_600_000),
    });
    const proxy = await startProxy(200, { key: privateKey, cert });
    const ca = `${connection.ca}\n${authority.certificate}`;
    expect(await read({ ...connection, ca, proxy: proxy.url })).toBeUndefined();
    expect((await read({ ...connection, proxy: proxy.url }))?.kind).toBe("unreachable");
    expect(proxy.asked).toHaveLength(1);
  });

  it("that refuses is named, without its words and without the password", async () => {
    const connection = await serve();
    const proxy = await startProxy(407);
    const error = await read({ ...connection, proxy: proxy.url.replace("//", "//me:hush@") });
    expect(error?.kind).toBe("unreachable");
    expect(error?.message).toMatch(/the proxy refused the connection with status 407$/);
    expect(error?.message).not.toContain("hush");
  });

  it("that is no proxy is called so", async () => {
    const connection = await serve();
    const { createServer: createTcpServer } = await import("node:net");
    const server = createTcpServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => void server.close());
    const proxy = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect((await read({ ...connection, proxy }))?.message).toContain("is it an HTTP proxy?");
  });
});
