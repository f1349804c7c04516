/** One embedded cluster, put together: identity, store, catalog, access, verbs, pages, port and controllers. */
import { X509Certificate } from "node:crypto";
import { join } from "node:path";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { type DynamicObject, splitKey } from "#api/meta";
import type { Clock } from "#lib/clock";
import { clone } from "#lib/json";
import type { Logger } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { jsonWebKeySet, tokenSigningKey } from "#lib/pki";
import { createAdmission } from "./admission/index.ts";
import { type AuditEvent, type AuditLog, createAuditLog } from "./audit/index.ts";
import {
  type Authenticator,
  type Authorizer,
  createAuthenticator,
  createRbacAuthorizer,
  createStandingRequests,
  rulesReviewStatus,
  tokenRequest,
  tokenReview,
} from "./auth/index.ts";
import { bind, HOST } from "./binding.ts";
import { putInPlace } from "./bootstrap.ts";
import { ownService } from "./bootstrap-objects.ts";
import { DEFINITIONS, LiveCatalog } from "./catalog.ts";
import { type RunningControllers, startControllers, systemWriter, tokenUseDays } from "./controllers/index.ts";
import { definitionResource, webhookConverter } from "./crd/index.ts";
import { discoveryOf } from "./discovery/index.ts";
import { notFound } from "./errors.ts";
import {
  askInProcess,
  auditObserver,
  createHandler,
  createLimiter,
  createPages,
  type Handle,
  type Listener,
  type LocalAnswer,
  type LocalRequest,
  requestMetrics,
} from "./http/index.ts";
import {
  clientIdentity,
  createIdentity,
  type Identity,
  type IdentityDraft,
  IdentityError,
  type KeyAndCertificate,
  readIdentity,
  writeIdentity,
} from "./identity.ts";
import { builtinResources, type KindDependencies } from "./kinds/index.ts";
import { createKubelets, type Kubelets } from "./kubelet/index.ts";
import { registerClusterMetrics } from "./metrics.ts";
import { createOpenApi } from "./openapi/index.ts";
import { deleteOptions, type RegistryDependencies, remove } from "./registry/index.ts";
import { createServiceAddresses } from "./service-addresses.ts";
import type { SharedPort } from "./shared-port.ts";
import { type Durability, openStore, type Store } from "./store/index.ts";
import { createWebhookCaller, createWebhookClient } from "./webhooks/index.ts";

export interface ClusterOptions {
  readonly name: string;
  /** Where it keeps its state and its keys; made when it is missing. */
  readonly dir: string;
  readonly durability: Durability;
  /**
   * Tried in order when the cluster starts for the first time; 0 lets the system choose. As a function it is called
   * when a port is needed, so that clusters that open side by side can wait for their turn.
   */
  readonly ports: Iterable<number> | (() => Promise<Iterable<number>>);
  /** Called when the port is known, before the cluster is ready. */
  readonly onBound?: (port: number) => void;
  /** The port that it shares with others; then it has none of its own. */
  readonly shared?: SharedPort;
  /** How long client certificates live that it signs. */
  readonly signingDurationMs: number;
  /** The version of Capstan. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A cluster as a program in the same process asks it. */
export interface InProcessServer {
  ask(request: LocalRequest, signal: AbortSignal): Promise<LocalAnswer>;
}

export interface EmbeddedCluster {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  /** PEM of the authority that the certificate of its port is signed by. */
  readonly authority: string;
  readonly administrator: KeyAndCertificate;
  /** Makes a program known to the cluster: a key and a certificate with this name and these groups. */
  identify(subject: { readonly commonName: string; readonly organizations: readonly string[] }): KeyAndCertificate;
  /** For a program in the same process that shows this certificate: served like all others, without a connection. */
  connect(certificate: string): InProcessServer;
  /** The latest requests and what became of them, oldest first. */
  auditTrail(): AuditEvent[];
  /** Ends watches, finishes writes, lets go of port and files. */
  close(): Promise<void>;
}

const AUDIT_FILE = "audit.log";
const KUBERNETES = "1.36.3";
const ISSUER = "https://kubernetes.default.svc.cluster.local";
const AUDIENCES = [ISSUER];
/** Who the server is to nodes. */
const KUBELET_CLIENT = { commonName: "kube-apiserver-kubelet-client", organizations: ["system:masters"] };

export async function openCluster(options: ClusterOptions): Promise<EmbeddedCluster> {
  const { name, dir, clock, log, durability } = options;
  const kept = await readIdentity(dir);
  const draft = kept ?? createIdentity(name, clock.now(), { sharesPort: options.shared !== undefined });

  const store = await openStore(
    durability === "memory" ? { durability } : { durability, dir, warn: (text) => log.warn(text), clock },
  );
  const audit = createAuditLog({ clock, log, ...(durability !== "memory" && { path: join(dir, AUDIT_FILE) }) });
  const server = assemble(store, audit, draft, options);
  let listener: Listener | undefined;
  try {
    listener = await listenerOf(draft, kept?.port, server.handle, options);
    options.onBound?.(listener.port);
    const identity: Identity = { ...draft, port: listener.port };
    if (!kept && durability !== "memory") await writeIdentity(dir, identity);
    await server.start(identity);
  } catch (error) {
    await listener?.close();
    await server.stop();
    await audit.close();
    await store.close();
    throw error;
  }
  const { port, close } = listener;
  let isClosed = false;
  return {
    name,
    port,
    url: options.shared?.urlOf(name) ?? `https://${HOST}:${port}`,
    authority: options.shared?.authority ?? draft.authority.certificate,
    administrator: draft.administrator,
    identify: (subject) => clientIdentity(draft.authority, subject, clock.now()),
    connect(certificate) {
      const { raw } = new X509Certificate(certificate);
      const caller = { remoteAddress: HOST, getPeerX509Certificate: () => ({ raw }) };
      return {
        async ask(request, signal) {
          if (isClosed) throw new Error(`cluster ${name} is closed`);
          return askInProcess(server.handle, caller, request, signal);
        },
      };
    },
    auditTrail: () => audit.recent(),
    async close() {
      isClosed = true;
      const stopped = server.stop();
      await close();
      await stopped;
      await audit.close();
      await store.close();
    },
  };
}

async function listenerOf(
  { name, serving }: IdentityDraft,
  kept: number | undefined,
  handle: Handle,
  { ports, shared }: ClusterOptions,
): Promise<Listener> {
  if (shared) {
    const stop = shared.serve(name, handle);
    return { port: shared.port, close: async () => stop() };
  }
  if (!serving) throw new IdentityError(`cluster ${name} shared a port, and has no certificate for one of its own`);
  return bind({ ...serving, kept, ports: typeof ports === "function" ? await ports() : ports, handle });
}

interface Assembled {
  readonly handle: Handle;
  /** Puts in what must be there and starts the controllers. */
  start(identity: Identity): Promise<void>;
  stop(): Promise<void>;
}

function assemble(
  store: Store,
  audit: AuditLog,
  identity: IdentityDraft,
  { clock, log, version, signingDurationMs, shared }: ClusterOptions,
): Assembled {
  const stopping = new AbortController();
  const signingKey = tokenSigningKey(identity.tokenKey);
  const authenticator = createAuthenticator({
    reader: store,
    clientCas: [identity.authority.certificate],
    serviceAccountKeys: [signingKey],
    issuer: ISSUER,
    audiences: AUDIENCES,
    onSecretUsed: (secret) => useDays.record(secret),
    clock,
  });
  const authorizer = createRbacAuthorizer({ reader: store });
  const standing = createStandingRequests({ reader: store, authorizer, clock });

  const webhookClient = createWebhookClient({ clock });
  const caller = createWebhookCaller(webhookClient, store);
  const admission = createAdmission({ store, catalog: () => catalog, caller, authorizer, clock });
  const registry: RegistryDependencies = {
    store,
    clock,
    admission,
    get catalog() {
      return catalog;
    },
    mayCreate: ({ resource, namespace }, { user }) =>
      authorizer.authorize({
        user,
        verb: "create",
        group: resource.group,
        version: resource.version,
        resource: resource.plural,
        namespace,
      }).allowed,
  };
  /** For what must go through, whatever webhooks there are. */
  const unasked = (): RegistryDependencies => ({ ...registry, admission: admission.alone });
  const kubelets = createKubelets({
    lookup: (storage, key) => store.head(storage, key),
    authority: identity.authority.certificate,
    identity: () => clientIdentity(identity.authority, KUBELET_CLIENT, clock.now()),
  });
  const kindDependencies = dependenciesOfKinds({
    store,
    clock,
    unasked,
    authenticator,
    authorizer,
    signingKey,
    kubelets,
  });
  const builtin = builtinResources(kindDependencies);
  const catalog = new LiveCatalog(
    [
      ...builtin,
      definitionResource({
        definitions: () => store.list(DEFINITIONS).items as unknown as CustomResourceDefinition[],
        builtins: () => builtin,
      }),
    ],
    { converterFor: (definition) => webhookConverter(definition, caller) },
  );
  const unfollow = catalog.follow(store);
  const writer = systemWriter(registry, (storage) => catalog.byStorage(storage));
  const useDays = tokenUseDays({ writer, clock, log });

  let serverAddress = HOST;
  const discovery = cachedBy(
    () => `${catalog.generation} ${serverAddress}`,
    () =>
      discoveryOf(catalog, {
        serverAddress,
        storageVersionOf: ({ plural, group }) => storageVersionOf(store.head(DEFINITIONS, `${plural}.${group}`)),
      }),
  );
  const metrics = createRegistry();
  registerClusterMetrics(metrics, store);
  const limiter = createLimiter({ clock });
  const pages = createPages({
    version: versionInfo(version),
    openApi: createOpenApi(() => catalog),
    discovery,
    openIdConfiguration: openIdConfiguration(),
    keySet: jsonWebKeySet([signingKey]),
    metrics: () => metrics.text(),
    health: () =>
      new Map([
        ["ping", true],
        ["store", !stopping.signal.aborted],
      ]),
  });

  let controllers: RunningControllers | undefined;
  return {
    handle: createHandler({
      registry,
      authenticator,
      authorizer,
      standing,
      limiter,
      pages,
      observers: [auditObserver(audit, clock), requestMetrics(metrics, limiter)],
      clock,
      log,
      stopping: stopping.signal,
    }),
    async start({ port, authority }) {
      serverAddress = `${HOST}:${port}`;
      // Nothing that is stored may keep a cluster from starting, least of all a webhook that runs in it.
      const bootstrap = systemWriter(unasked(), (storage) => catalog.byStorage(storage));
      const facts = { authority: authority.certificate, host: HOST, port, now: clock.now() };
      await putInPlace({ store, writer: bootstrap, facts });
      controllers = startControllers({
        store,
        writer,
        catalog,
        clock,
        log,
        authority,
        servingAuthority: shared?.authority ?? authority.certificate,
        signingDurationMs,
        tokenKey: signingKey,
        ownService: ownService(HOST, port),
      });
    },
    async stop() {
      stopping.abort();
      webhookClient.close();
      await controllers?.stop();
      kubelets.close();
      await useDays.written();
      unfollow();
      admission.close();
      standing.close();
      authorizer.close();
    },
  };
}

function dependenciesOfKinds(parts: {
  store: Store;
  clock: Clock;
  unasked: () => RegistryDependencies;
  authenticator: Authenticator;
  authorizer: Authorizer;
  signingKey: ReturnType<typeof tokenSigningKey>;
  kubelets: Kubelets;
}): KindDependencies {
  const { store, clock, unasked, authenticator, authorizer, signingKey, kubelets } = parts;
  return {
    lookup: (storage, key) => store.head(storage, key),
    list: (storage, namespace) => store.list(storage, { namespace }).items,
    async change(storage, key, edit, { dryRun }) {
      const next = (current: DynamicObject | undefined): DynamicObject => {
        if (!current) throw notFound({ group: "", kind: storage.replace("core/", ""), name: splitKey(key).name });
        const draft = clone(current);
        edit(draft);
        return draft;
      };
      if (dryRun) return next(store.head(storage, key));
      return (await store.write(storage, key, next)) as DynamicObject; // never a deletion
    },
    async evict(pod, options, context) {
      const registry = unasked(); // whoever is asked about evictions has been asked about this one
      const resource = registry.catalog.find("", "v1", "pods");
      if (!resource) throw new Error("pods are not served");
      const { namespace = "", name } = pod.metadata;
      await remove(registry, { resource, namespace, name }, deleteOptions(options, new URLSearchParams()), context);
    },
    issueToken: async ({ parent, body, context }) =>
      tokenRequest({
        reader: store,
        key: signingKey,
        issuer: ISSUER,
        audiences: AUDIENCES,
        serviceAccount: parent,
        body,
        now: context.now,
      }),
    reviewToken: (body) => tokenReview({ authenticator, body }),
    authorize: (attributes) => authorizer.authorize(attributes),
    readLog: ({ parent, query, closed }) => kubelets.log(parent, query, closed),
    rulesReview: (user, namespace) => rulesReviewStatus(authorizer.rulesFor(user, namespace)),
    addresses: createServiceAddresses(store, clock),
  };
}

function versionInfo(capstan: string): Record<string, string> {
  const [major = "", minor = ""] = KUBERNETES.split(".");
  return {
    major,
    minor,
    emulationMajor: major,
    emulationMinor: minor,
    minCompatibilityMajor: major,
    minCompatibilityMinor: String(Number(minor) - 1),
    gitVersion: `v${KUBERNETES}+capstan.${capstan}`,
    gitCommit: "",
    gitTreeState: "clean",
    buildDate: "1970-01-01T00:00:00Z",
    goVersion: "",
    compiler: "typescript",
    platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
  };
}

function openIdConfiguration(): unknown {
  return {
    issuer: ISSUER,
    jwks_uri: `${ISSUER}/openid/v1/jwks`,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256"],
  };
}

function storageVersionOf(definition: DynamicObject | undefined): string | undefined {
  if (!definition) return undefined;
  const { spec } = definition as unknown as CustomResourceDefinition;
  return spec.versions.find(({ storage }) => storage)?.name;
}

/** Computes again only when what it depends on moved. */
function cachedBy<T>(generation: () => string, compute: () => T): () => T {
  let known: { at: string; value: T } | undefined;
  return () => {
    const at = generation();
    if (known?.at !== at) known = { at, value: compute() };
    return known.value;
  };
}
