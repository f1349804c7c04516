/**
 * Finding out whom to trust as the hub. The token came by a way that people trust, the hub's authority did not come
 * at all; so the first question is asked of whoever answers, and all others only of whom that authority vouches for.
 */
import { X509Certificate } from "node:crypto";
import { CLUSTER_GROUP } from "#api/cluster";
import {
  type Client,
  type Connection,
  createClient,
  isForbidden,
  isNetworkError,
  isNotFound,
  isTimeout,
  isUnauthorized,
} from "#kube";
import { UserError } from "../user-error.ts";
import { clusterInfo, type Endpoint, rootAuthority } from "./cluster-info.ts";

export interface HubAddress {
  readonly server: string;
  readonly token: string;
  /** PEM of the hub's authority, if a person named it. */
  readonly ca?: string;
  readonly proxyUrl?: string;
  /** PEM of the proxy's authority. */
  readonly proxyCa?: string;
}

export interface HubContact {
  /** Of everybody that may stand at the other end: the hub, and a proxy on the way. */
  readonly ca?: string;
  /** SHA-256 of the hub's authority, as tools for certificates print it. */
  readonly fingerprint?: string;
  readonly source: "flag" | "cluster-info" | "kube-root-ca.crt" | "system";
  /** How the hub's own programs reach it, where it says so. */
  readonly internal?: Endpoint;
  /** With the token, and verified. */
  readonly client: Client;
}

/** A client of the hub that is sure of it. Throws UserError with what is in the way. The caller closes it. */
export async function contactHub(address: HubAddress, lookup: { readonly internal: boolean }): Promise<HubContact> {
  const found = await authorityOf(address, lookup.internal);
  const ca = [found.ca, address.proxyCa].filter((pem) => pem !== undefined).join("\n") || undefined;
  const fingerprint = found.ca === undefined ? undefined : fingerprintOf(found.ca, address.server);
  const client = createClient({ connection: connectionTo(address, ca === undefined ? {} : { ca }) });
  try {
    await greet(client);
  } catch (error) {
    client.close();
    throw error;
  }
  return {
    ...(ca !== undefined && { ca }),
    ...(fingerprint !== undefined && { fingerprint }),
    source: found.source,
    ...(found.internal && { internal: found.internal }),
    client,
  };
}

function connectionTo({ server, token, proxyUrl }: HubAddress, trust: Pick<Connection, "ca" | "insecure">): Connection {
  return { server, token, ...trust, ...(proxyUrl !== undefined && { proxy: proxyUrl }) };
}

async function authorityOf(
  address: HubAddress,
  wantsInternal: boolean,
): Promise<Pick<HubContact, "ca" | "source" | "internal">> {
  if (address.ca !== undefined && !wantsInternal) return { ca: address.ca, source: "flag" };
  // A proxy on the way has an authority that is known in any case.
  const known = [address.ca, address.proxyCa].filter((pem) => pem !== undefined).join("\n");
  const trust = { ...(known !== "" && { ca: known }), ...(address.ca === undefined && { insecure: true }) };
  const stranger = createClient({ connection: connectionTo(address, trust) });
  try {
    const info = await clusterInfo(stranger);
    if (wantsInternal && !info) {
      throw new UserError(
        `${address.server} has no ConfigMap kube-public/cluster-info, so its internal address is not known; leave --force-internal-endpoint-lookup out`,
      );
    }
    const internal = wantsInternal && info ? { internal: info } : {};
    if (address.ca !== undefined) return { ca: address.ca, source: "flag", ...internal };
    if (info?.ca !== undefined) return { ca: info.ca, source: "cluster-info", ...internal };
    const ca = await rootAuthority(stranger);
    return ca === undefined ? { source: "system", ...internal } : { ca, source: "kube-root-ca.crt", ...internal };
  } catch (error) {
    throw explained(error, address.server);
  } finally {
    stranger.close();
  }
}

/** Both questions that every hub answers to whoever may join it. */
async function greet(client: Client): Promise<void> {
  try {
    await client.raw("/version");
    await client.raw(`/apis/${CLUSTER_GROUP}/v1`);
  } catch (error) {
    throw explained(error, client.server);
  }
}

function explained(error: unknown, server: string): unknown {
  if (isUnauthorized(error)) {
    return new UserError(
      `the hub ${server} does not know the token: it has ended, or is another hub's; get a new one with \`capstan get token\` on the hub`,
    );
  }
  if (isForbidden(error)) {
    return new UserError(
      `the token may not ask the hub ${server} to join: ${error.status?.message ?? error.message}; get one with \`capstan get token\` on the hub`,
    );
  }
  if (isNotFound(error)) {
    return new UserError(
      `${server} is no hub: it does not know ManagedClusters; run \`capstan init --wait\` there first, or correct --hub-apiserver`,
    );
  }
  if (isNetworkError(error) || isTimeout(error)) {
    return new UserError(
      `the hub ${server} cannot be reached: ${causeOf(error)}; correct --hub-apiserver, or see that the hub runs and nothing is in between`,
    );
  }
  return error;
}

/** Without the words that say which call it was. */
export function causeOf(error: Error): string {
  const at = error.message.search(/cannot connect: |certificate/);
  return at > 0 ? error.message.slice(at).replace(/^cannot connect: /, "") : error.message;
}

function fingerprintOf(pem: string, server: string): string {
  try {
    return new X509Certificate(pem).fingerprint256;
  } catch {
    throw new UserError(`the authority of ${server} is no certificate; name the right one with --ca-file`);
  }
}

/** Whether a URL means the machine that uses it. */
export function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  return host === "localhost" || host.endsWith(".localhost") || host === "::1" || /^127(\.\d+){3}$/.test(host);
}
