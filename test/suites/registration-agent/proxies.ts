/** A way to the hub through an HTTP proxy, spoken to in the clear or by TLS. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, it } from "vitest";
import { kubeconfigText, parseKubeconfig } from "#kube";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";
import type { FaultStage } from "../registration-faults/stage.ts";

export function proxyCases(stageOf: () => FaultStage): void {
  it.each(["http", "https"] as const)(
    "a cluster behind an %s proxy joins through it, and its kubeconfig names it",
    async (scheme) => {
      const stage = stageOf();
      const name = `behind-${scheme}`;
      const proxy = await Tunnels.start(scheme);
      const config = await stage.bootstrap();
      const clusters = config.clusters.map((cluster) => ({
        ...cluster,
        proxyUrl: proxy.url,
        ca: { pem: stage.hub.authority + proxy.authority },
      }));
      const agent = await stage.start(name, {
        clusterName: name,
        bootstrapKubeconfig: kubeconfigText({ ...config, clusters }),
      });
      await stage.admit(name);
      await stage.untilWorking(name);
      expect(proxy.asked).toContain(new URL(stage.hub.url).host);
      const [cluster] = parseKubeconfig(await stage.stored(name, "kubeconfig"), "the Secret").clusters;
      expect(cluster).toMatchObject({ server: stage.hub.url, proxyUrl: proxy.url });
      await agent.stop();
      await proxy.stop();
    },
  );
}

class Tunnels {
  /** `host:port` of every connection that was asked for. */
  readonly asked: string[] = [];
  readonly url: string;
  /** PEM; empty for one that is spoken to in the clear. */
  readonly authority: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, scheme: string, authority: string) {
    this.#server = server;
    this.authority = authority;
    this.url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("connect", (request, near: Socket) => this.#join(request.url ?? "", near));
  }

  static async start(scheme: "http" | "https"): Promise<Tunnels> {
    const now = new Date();
    const ca = createCertificateAuthority({ commonName: "proxy", now });
    const pair = generateKeyPair();
    const cert = issueCertificate({
      ca,
      subject: { commonName: "proxy" },
      publicKey: pair.publicKey,
      usages: ["server auth"],
      ipAddresses: ["127.0.0.1"],
      notBefore: new Date(now.getTime() - 60_000),
      notAfter: new Date(now.getTime() + 3_600_000),
    });
    const server = scheme === "http" ? createServer() : createTlsServer({ cert, key: pair.privateKey });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Tunnels(server, scheme, scheme === "http" ? "" : ca.certificate);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(target: string, near: Socket): void {
    this.asked.push(target);
    const [host, port] = target.split(":");
    const far = connect(Number(port), host, () => {
      near.write("HTTP/1.1 200 Connection established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far]) {
      this.#sockets.add(socket);
      socket.on("error", () => {});
    }
  }
}
