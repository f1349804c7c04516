/** From a ClusterProfile to the way in: which provider, which server, which credentials. Pure; nothing is run here. */
import type { AccessProvider, ClusterProfile } from "#api/inventory";
import { keyOf } from "#api/meta";
import { type ExecCluster, type ExecConfig, fingerprint, type PluginName } from "#kube";
import { PkiError, parseCertificates } from "#lib/pki";
import { configFor, ExtensionError, execFor } from "./extensions.ts";
import type { Provider } from "./provider-file.ts";
import { type AccessFailure, AccessReason } from "./reasons.ts";

type Cluster = NonNullable<AccessProvider["cluster"]>;

/** Where the credentials come from: somebody's program, or one of our own plugins without a process. */
export type CredentialSource =
  | { readonly exec: ExecConfig; readonly cluster: ExecCluster }
  | { readonly builtin: PluginName; readonly config: unknown; readonly managedServiceAccount?: string };

export interface Access {
  /** The name of the provider that was taken. */
  readonly provider: string;
  /** `https://host:port`, possibly with a path, without a trailing slash. */
  readonly server: string;
  /** PEM. */
  readonly ca?: string;
  readonly serverName?: string;
  readonly insecure?: boolean;
  readonly proxy?: string;
  readonly credentials: CredentialSource;
  /** The same for the same way in, and another as soon as anything about it is another. */
  readonly fingerprint: string;
  /** What the profile says and we do not follow. */
  readonly notes: readonly string[];
}

export interface AccessOptions {
  /** Whether a profile may ask for a server not to be checked; otherwise that wish is passed over. */
  readonly allowInsecure?: boolean;
}

/** The first provider, in the order of the file, that the profile offers. */
export function accessTo(
  profile: ClusterProfile,
  providers: readonly Provider[],
  { allowInsecure = false }: AccessOptions = {},
): Access | AccessFailure {
  const offered = offersOf(profile);
  const provider = providers.find(({ name }) => offered.has(name));
  if (!provider) return noMatch(profile, providers, [...offered.keys()]);
  const cluster = offered.get(provider.name)?.cluster;
  if (!cluster?.server) return unusable(profile, `access provider ${provider.name} names no server`);
  try {
    const target = targetOf(cluster, allowInsecure);
    const credentials = sourceOf(provider, cluster, target.insecure === true);
    return Object.freeze({
      provider: provider.name,
      ...target,
      credentials,
      fingerprint: fingerprint([target, credentials]),
      notes: notesOf(profile, provider.name, cluster, allowInsecure),
    });
  } catch (error) {
    if (error instanceof TargetError) return unusable(profile, `access provider ${provider.name} ${error.message}`);
    if (!(error instanceof ExtensionError)) throw error;
    return { reason: AccessReason.failed, message: `ClusterProfile ${keyOf(profile)}: ${error.message}` };
  }
}

/** The newer list wins where both have the same name. */
function offersOf({ status }: ClusterProfile): Map<string, AccessProvider> {
  const { credentialProviders = [], accessProviders = [] } = status ?? {};
  return new Map([...credentialProviders, ...accessProviders].map((offer) => [offer.name, offer]));
}

function noMatch(profile: ClusterProfile, providers: readonly Provider[], offered: readonly string[]): AccessFailure {
  const known = providers.map(({ name }) => name).join(", ") || "none";
  const message =
    `no matching cluster accessor found for cluster profile ${JSON.stringify(profile.metadata.name)}: ` +
    `it offers ${[...offered].sort().join(", ") || "none"}, the provider file has ${known}`;
  return { reason: AccessReason.disabled, message };
}

function unusable(profile: ClusterProfile, what: string): AccessFailure {
  return { reason: AccessReason.clientFailed, message: `ClusterProfile ${keyOf(profile)}: ${what}` };
}

function sourceOf(provider: Provider, cluster: Cluster, insecure: boolean): CredentialSource {
  const { name, exec, builtin, managedServiceAccount } = provider;
  const extensions = cluster.extensions ?? [];
  const config = configFor(extensions);
  if (builtin) return { builtin, config, ...(managedServiceAccount !== undefined && { managedServiceAccount }) };
  if (!exec) throw new ExtensionError(`no exec config found for provider ${JSON.stringify(name)}`);
  return { exec: execFor(exec, provider, extensions), cluster: toldOf(cluster, config, insecure) };
}

/** What the plugin is told: what we go by ourselves. */
function toldOf(cluster: Cluster, config: unknown, insecure: boolean): ExecCluster {
  const { server, "tls-server-name": serverName, "certificate-authority-data": ca, "proxy-url": proxy } = cluster;
  return {
    server,
    ...(serverName && { "tls-server-name": serverName }),
    ...(insecure && { "insecure-skip-tls-verify": true }),
    ...(ca && !insecure && { "certificate-authority-data": ca }),
    ...(proxy && { "proxy-url": proxy }),
    ...(cluster["disable-compression"] && { "disable-compression": true }),
    ...(config !== undefined && { config }),
  };
}

/** What the profile says of the server makes no connection. */
class TargetError extends Error {
  override readonly name = "TargetError";
}

function targetOf(cluster: Cluster, allowInsecure: boolean) {
  const ca = authoritiesOf(cluster["certificate-authority-data"]);
  const proxy = cluster["proxy-url"];
  const serverName = cluster["tls-server-name"];
  const insecure = allowInsecure && cluster["insecure-skip-tls-verify"] === true;
  if (proxy) urlOf(proxy, "proxy-url");
  const { origin, pathname } = urlOf(cluster.server, "server");
  return {
    server: `${origin}${pathname.replace(/\/+$/, "")}`,
    ...(ca !== undefined && !insecure && { ca }),
    ...(serverName && { serverName }),
    ...(insecure && { insecure }),
    ...(proxy && { proxy }),
  };
}

/** The URL itself is not repeated: that of a proxy may hold a password. */
function urlOf(text: string, field: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:" || url?.protocol === "http:") return url;
  throw new TargetError(`has a ${field} that is no URL of http or https`);
}

function authoritiesOf(data: string | undefined): string | undefined {
  if (!data) return undefined;
  const ca = Buffer.from(data, "base64").toString("utf8");
  try {
    if (parseCertificates(ca).length > 0) return ca;
  } catch (error) {
    if (!(error instanceof PkiError)) throw error;
  }
  throw new TargetError("has a certificate-authority-data that holds no certificate");
}

function notesOf(profile: ClusterProfile, provider: string, cluster: Cluster, allowInsecure: boolean): string[] {
  const isNew = profile.status?.accessProviders?.some(({ name }) => name === provider);
  return [
    ...(isNew ? [] : [`it offers ${provider} in the deprecated field credentialProviders; use accessProviders`]),
    ...(cluster["certificate-authority"] ? ["it names a file with authorities, which nobody else can read"] : []),
    ...(cluster["insecure-skip-tls-verify"] && !allowInsecure
      ? ["it asks for an unchecked server; it is checked"]
      : []),
  ];
}
