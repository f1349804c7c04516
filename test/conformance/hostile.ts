/** Requests that no honest client sends. Each has an answer, and the server lives on. */
import { connect as connectHttp2, type OutgoingHttpHeaders } from "node:http2";
import { request as httpsRequest } from "node:https";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

export function hostileSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });
  const configMaps = (name?: string) => at(space, "configmaps", name);
  const post = (body: unknown, type?: string) =>
    stage().admin.post(configMaps(), body, type === undefined ? {} : { type });

  afterEach(async () => {
    expect((await stage().admin.get("/readyz")).text).toBe("ok");
  });

  describe("bodies", () => {
    it("limits.body-size: are refused beyond their limit, whether announced or not", async () => {
      const large = JSON.stringify({ metadata: { name: "large" }, data: { a: "x".repeat(4 * 1024 * 1024) } });
      expect(refusal(await post(large))).toEqual(refused(413, "RequestEntityTooLarge"));
      const chunked = await new Promise<number | undefined>((resolve, reject) => {
        const { hostname, port } = new URL(stage().server.url);
        const request = httpsRequest({
          hostname,
          port,
          path: configMaps(),
          method: "POST",
          ca: stage().server.authority,
        });
        request.on("response", (response) => {
          resolve(response.statusCode);
          response.destroy();
        });
        request.on("error", reject);
        request.write("[".repeat(64 * 1024));
        request.end();
      });
      expect([400, 401, 403, 413]).toContain(chunked);
    });

    it.each([
      ["nested without end", "[".repeat(100_000)],
      ["nested deeply and closed", `{"metadata":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`],
      ["cut off", '{"metadata":{"name":"cut"'],
      ["of bad UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
      ["of NaN", '{"metadata":{"name":"nan","generation":NaN}}'],
      ["a number", "5"],
      ["null", "null"],
      ["with metadata that is a text", '{"metadata":"x"}'],
      ["with labels that are a list", '{"metadata":{"name":"x","labels":["a"]}}'],
      ["with a kind that is a number", '{"kind":5,"apiVersion":{},"metadata":{"name":"x"}}'],
      ["with a name that is an object", '{"metadata":{"name":{}}}'],
    ])("limits.malformed-bodies: %s are bad requests", async (_, body) => {
      const { code } = await post(body);
      expect([400, 422]).toContain(code); // some servers mend what others refuse, and then miss a name
    });

    it("limits.yaml: of YAML are bounded as well", async () => {
      expect((await post("[".repeat(100_000), "application/yaml")).code).toBe(400);
      const laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"];
      for (let i = 1; i < 12; i++)
        laughs.push(
          `a${i}: &a${i} [${Array(9)
            .fill(`*a${i - 1}`)
            .join(", ")}]`,
        );
      const { code } = await post(`metadata: {name: laughs}\n${laughs.join("\n")}\n`, "application/yaml");
      expect([400, 413]).toContain(code);
    });

    it("limits.property-names: with names that objects of JavaScript have are data like any other", async () => {
      const text =
        '{"metadata":{"name":"proto","labels":{"constructor":"a","__proto__":"b"},"annotations":{"toString":"c"}},"data":{"__proto__":"d","hasOwnProperty":"e"}}';
      const made = await post(text);
      if (made.code === 201) {
        const { text: read } = await stage().admin.get(configMaps("proto"));
        expect(read).toContain('"__proto__":"d"');
        expect(read).toContain('"hasOwnProperty":"e"');
      } else expect(made.code).toBe(422); // `__proto__` is no key of a label
      const patched = await stage().admin.patch(
        configMaps("kube-root-ca.crt"),
        '{"metadata":{"annotations":{"__proto__":null}}}',
      );
      expect(patched.code).toBeLessThan(500);
      expect(({} as { polluted?: string }).polluted).toBeUndefined();
    });
  });

  describe("paths and queries", () => {
    it.each(["__proto__", "constructor", "..%2f..%2fsecrets", "%00", "%", "%zz", "a%2fb", "x".repeat(5000)])(
      "limits.odd-names: %s names nothing",
      async (name) => {
        const { code } = await stage().admin.get(configMaps(name));
        expect([400, 404]).toContain(code);
      },
    );

    it.each([
      "/api/v1/__proto__",
      "/apis/__proto__/v1/x",
      "/apis/apps/constructor/deployments",
      "/api/v1/namespaces/__proto__",
      "//",
      "/api//v1",
    ])("limits.odd-paths: %s is nowhere", async (path) => {
      const { code } = await stage().admin.get(path);
      expect([301, 404]).toContain(code);
    });

    it.each([
      "labelSelector=((",
      `labelSelector=${"a,".repeat(2000)}b`,
      "labelSelector=%ff%fe",
      "fieldSelector=__proto__%3Da",
      "fieldSelector=constructor.name%3Da",
      "limit=99999999999999999999999999",
      "continue=%ff",
      "resourceVersion=99999999999999999999999999",
      `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":99999999999,"start":"/\\u0000"}').toString("base64url")}`,
      `continue=${Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"../../x"}').toString("base64url")}`,
    ])("limits.odd-queries: ?%s has an answer", async (query) => {
      const { code } = await stage().admin.get(`${configMaps()}?${query}`);
      expect([200, 400, 410, 414, 431, 504]).toContain(code);
    });

    it("limits.old-token: a token of the first revision shows that state, or how to go on once it is forgotten", async () => {
      const ancient = Buffer.from(
        JSON.stringify({ v: "meta.k8s.io/v1", rv: 1, start: `/kube-root-ca.crt\u0000` }),
      ).toString("base64url");
      const reply = await stage().admin.get(`${configMaps()}?limit=1&continue=${ancient}`);
      if (reply.code === 200) {
        // Forgetting cannot be asked for over the wire, so a young server still remembers.
        expect([reply.body.kind, reply.body.metadata.resourceVersion]).toEqual(["ConfigMapList", "1"]);
        return;
      }
      expect(refusal(reply)).toEqual(refused(410, "Expired"));
      const { body } = await stage().admin.get(`${configMaps()}?limit=1&continue=${reply.body.metadata.continue}`);
      expect(body.kind).toBe("ConfigMapList");
    });
  });

  describe("connections", () => {
    const open: TLSSocket[] = [];
    afterEach(() => {
      for (const socket of open.splice(0)) socket.destroy();
    });
    const socket = async (): Promise<TLSSocket> => {
      const { hostname, port } = new URL(stage().server.url);
      const made = tlsConnect({
        host: hostname,
        port: Number(port),
        ca: stage().server.authority,
        servername: "localhost",
      });
      open.push(made);
      made.on("error", () => {}); // being cut off is one of the right answers
      await new Promise((resolve) => made.once("secureConnect", resolve));
      return made;
    };
    const answerOf = (made: TLSSocket): Promise<string> =>
      new Promise((resolve) => {
        let text = "";
        made.on("data", (chunk: Buffer) => {
          text += chunk.toString("latin1");
          if (text.includes("\r\n")) resolve(text);
        });
        made.on("close", () => resolve(text));
      });

    it("limits.header-size: with headers beyond bounds are refused", async () => {
      const made = await socket();
      const answer = answerOf(made);
      made.write(`GET /version HTTP/1.1\r\nHost: x\r\nX-Large: ${"x".repeat(2 * 1024 * 1024)}\r\n\r\n`);
      expect(await answer).toMatch(/^(HTTP\/1\.1 4\d\d|$)/);
    });

    it("limits.not-http: that speak no HTTP are refused", async () => {
      const made = await socket();
      const answer = answerOf(made);
      made.write("\u0000\u0001\u0002 nonsense\r\n\r\n");
      expect(await answer).toMatch(/^(HTTP\/1\.1 4\d\d|HTTP\/1\.0 4\d\d|$)/);
    });

    it("limits.stalled-connection: that stop in the middle do not keep others waiting", async () => {
      const half = await socket();
      half.write(
        `POST ${configMaps()} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"met`,
      );
      half.pause();
      const lone = await socket();
      lone.write("GET /ver");
      expect((await stage().admin.get("/version")).code).toBe(200);
    });

    it("limits.two-lengths: with two lengths are not believed", async () => {
      const made = await socket();
      const answer = answerOf(made);
      made.write("POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 30\r\n\r\n{}");
      expect(await answer).toMatch(/^(HTTP\/1\.1 4\d\d|$)/);
    });
  });

  describe("over HTTP/2", () => {
    it("limits.http2-body-size: a body beyond its limit does not spoil the connection", async () => {
      const { server, admin } = stage();
      const { token } = (await admin.post(`${at(space, "serviceaccounts", "default")}/token`, { spec: {} })).body
        .status as {
        token: string;
      };
      const session = connectHttp2(server.url, { ca: server.authority });
      session.on("error", () => {}); // being cut off is one of the right answers
      const ask = (headers: OutgoingHttpHeaders, body?: Buffer) =>
        new Promise<number>((resolve, reject) => {
          const stream = session.request(
            { authorization: `Bearer ${token}`, ...headers },
            { endStream: body === undefined },
          );
          stream.on("response", (answer) => resolve(Number(answer[":status"])));
          stream.on("error", reject);
          stream.resume();
          if (body) stream.end(body);
        });
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      const post = { ":method": "POST", ":path": path, "content-type": "application/json" };
      expect(await ask(post, Buffer.alloc(4 * 1024 * 1024, "["))).toBe(413);
      expect(await ask({ ":path": "/version" })).toBe(200);
      session.close();
    });
  });

  it("limits.idle-watcher: a watcher that never reads is dropped, and costs nothing more", async () => {
    const { hostname, port } = new URL(stage().server.url);
    const { token } = (
      await stage().admin.post(`${at("kube-system", "serviceaccounts", "default")}/token`, { spec: {} })
    ).body.status as { token: string };
    await stage().admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      metadata: { name: `${space}-slow` },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", namespace: "kube-system", name: "default" }],
    });
    await eventually(async () => expect((await stage().admin.as({ token }).get(configMaps())).code).toBe(200));
    const slow = tlsConnect({
      host: hostname,
      port: Number(port),
      ca: stage().server.authority,
      servername: "localhost",
    });
    slow.on("error", () => {});
    await new Promise((resolve) => slow.once("secureConnect", resolve));
    slow.write(`GET ${configMaps()}?watch=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    await new Promise((resolve) => slow.once("data", resolve));
    slow.pause();

    await stage().admin.post(configMaps(), { metadata: { name: "heavy" } });
    const value = "x".repeat(900 * 1024);
    for (let i = 0; i < 24; i++) {
      expect((await stage().admin.patch(configMaps("heavy"), { data: { value, i: String(i) } })).code).toBe(200);
    }
    await stage().admin.delete(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${space}-slow`);
    slow.destroy();
  });
}
