/**
 * One port for many clusters: `/clusters/NAME/…` leads to the cluster of that name. TLS has one certificate there, of
 * an authority of its own. Who a client is remains a matter between it and the cluster it asks: a certificate that
 * one cluster signed is unknown to the others.
 */
import { createCertificateAuthority } from "#lib/pki";
import { bind, HOST } from "./binding.ts";
import { type Handle, type Request, type Response, sendText } from "./http/index.ts";
import { type KeyAndCertificate, readKept, servingIdentity, writeKept } from "./identity.ts";

export interface SharedPortOptions {
  /** Where port and certificate are kept; without it they are forgotten. */
  readonly file?: string;
  /** Tried in order when none was kept. */
  readonly ports: Iterable<number>;
  readonly now: Date;
}

export interface SharedPort {
  readonly port: number;
  /** PEM of the authority that its certificate is signed by. */
  readonly authority: string;
  urlOf(name: string): string;
  /** Leads requests for the cluster to `handle`. The answer ends it. */
  serve(name: string, handle: Handle): () => void;
  close(): Promise<void>;
}

/** The authority's key is not kept: nothing else shall ever be signed by it. */
interface Kept {
  readonly format: 1;
  readonly port: number;
  /** PEM. */
  readonly authority: string;
  readonly serving: KeyAndCertificate;
}

/** The cluster, and what is left of the URL. */
const IN_CLUSTER = /^\/clusters\/([^/?]+)(.*)$/s;
const HEALTH = /^\/(healthz|livez|readyz)$/;

/** Throws PortTaken, and IdentityError when what was kept cannot be used. */
export async function openSharedPort({ file, ports, now }: SharedPortOptions): Promise<SharedPort> {
  const clusters = new Map<string, Handle>();
  const kept = file === undefined ? undefined : await readKept<Kept>(file);
  const { authority, serving } = kept ?? freshIdentity(now);
  const { port, close } = await bind({ ...serving, kept: kept?.port, ports, handle: routed(clusters) });
  try {
    if (!kept && file !== undefined) await writeKept<Kept>(file, { format: 1, port, authority, serving });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    port,
    authority,
    urlOf: (name) => `https://${HOST}:${port}/clusters/${name}`,
    serve(name, handle) {
      clusters.set(name, handle);
      return () => void clusters.delete(name);
    },
    close,
  };
}

function freshIdentity(now: Date): Pick<Kept, "authority" | "serving"> {
  const authority = createCertificateAuthority({ commonName: "capstan-shared-port", now });
  return { authority: authority.certificate, serving: servingIdentity(authority, now) };
}

function routed(clusters: ReadonlyMap<string, Handle>): Handle {
  return (request: Request, response: Response) => {
    const url = request.url ?? "/";
    const [, name = "", rest = ""] = IN_CLUSTER.exec(url) ?? [];
    const handle = clusters.get(name);
    if (handle) {
      request.base = `/clusters/${name}`;
      request.url = rest.startsWith("/") ? rest : `/${rest}`;
      return handle(request, response);
    }
    request.resume();
    if (name !== "") return sendText(response, 404, `there is no cluster ${name} here\n`);
    if (HEALTH.test(url)) return sendText(response, 200, "ok");
    sendText(response, 404, "this port is shared: clusters are found under /clusters/NAME\n");
  };
}
