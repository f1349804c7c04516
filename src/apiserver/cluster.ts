/** One embedded cluster, put together: identity, store, catalog, access, verbs, pages, port and controllers. */
import { join } from "node:path";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { type DynamicObject, splitKey } from "#api/meta";
import type { Clock } from "#lib/clock";
import { clone } from "#lib/json";
import type { Logger } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { jsonWebKeySet, tokenSigningKey } from "#lib/pki";
import { createAdmission } from "./admission.ts";
import { type AuditEvent, type AuditLog, createAuditLog } from "./audit/index.ts";
import {
  type Authenticator,
  type Authorizer,
  createAuthenticator,
  createRbacAuthorizer,
  rulesReviewStatus,
  tokenRequest,
  tokenReview,
} from "./auth/index.ts";
import { bootstrapObjects } from "./bootstrap-objects.ts";
import { DEFINITIONS, LiveCatalog } from "./catalog.ts";
import {
  clusterRoleAggregationController,
  csrSigningController,
  definitionDeletionController,
  namespaceContentController,
  namespaceDeletionController,
  runServerControllers,
  type SystemWriter,
  systemWriter,
  tokenSecretController,
  tokenUseDays,
} from "./controllers/index.ts";
import { definitionResource } from "./crd/index.ts";
import { discoveryOf } from "./discovery/index.ts";
import { notFound } from "./errors.ts";
import {
  auditObserver,
  createHandler,
  createLimiter,
  createPages,
  type Listener,
  listen,
  requestMetrics,
} from "./http/index.ts";
import {
  createIdentity,
  type Identity,
  type IdentityDraft,
  type KeyAndCertificate,
  readIdentity,
  writeIdentity,
} from "./identity.ts";
import { builtinResources, type KindDependencies } from "./kinds/index.ts";
import { registerClusterMetrics } from "./metrics.ts";
import { createOpenApi } from "./openapi/index.ts";
import { deleteOptions, type RegistryDependencies, remove } from "./registry/index.ts";
import { createServiceAddresses } from "./service-addresses.ts";
import { type Durability, openStore, type Store } from "./store/index.ts";

export interface ClusterOptions {
  readonly name: string;
  /** Where it keeps its state and its keys; made when it is missing. */
  readonly dir: string;
  readonly durability: Durability;
  /** Tried in order when the cluster starts for the first time; 0 lets the system choose. */
  readonly ports: Iterable<number>;
  /** How long client certificates live that it signs. */
  readonly signingDurationMs: number;
  /** The version of Capstan. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface EmbeddedCluster {
  readonly name: string;
  readonly port: number;
  readonly url: string;
  /** PEM of the authority that its certificate and its clients' certificates are signed by. */
  readonly authority: string;
  readonly administrator: KeyAndCertificate;
  /** The latest requests and what became of them, oldest first. */
  auditTrail(): AuditEvent[];
  /** Ends watches, finishes writes, lets go of port and files. */
  close(): Promise<void>;
}

/** The port that the cluster chose at its first start belongs to somebody else now. */
export class PortTaken extends Error {
  override readonly name = "PortTaken";
  readonly port: number;

  constructor(port: number, cause: unknown) {
    super(`port ${port} is taken`, { cause });
    this.port = port;
  }
}

const HOST = "127.0.0.1";
const AUDIT_FILE = "audit.log";
const KUBERNETES = "1.36.3";
const ISSUER = "https://kubernetes.default.svc.cluster.local";
const AUDIENCES = [ISSUER];

export async function openCluster(options: ClusterOptions): Promise<EmbeddedCluster> {
  const { name, dir, clock, log, durability } = options;
  const kept = await readIdentity(dir);
  const draft = kept ?? createIdentity(name, clock.now());

  const store = await openStore(
    durability === "memory" ? { durability } : { durability, dir, warn: (text) => log.warn(text), clock },
  );
  const audit = createAuditLog({ clock, log, ...(durability !== "memory" && { path: join(dir, AUDIT_FILE) }) });
  const server = assemble(store, audit, draft, options);
  let listener: Listener | undefined;
  try {
    listener = await bind(
      draft,
      kept?.port === undefined ? options.ports : [kept.port],
      kept !== undefined,
      server.handle,
    );
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
  return {
    name,
    port,
    url: `https://${HOST}:${port}`,
    authority: draft.authority.certificate,
    administrator: draft.administrator,
    auditTrail: () => audit.recent(),
    async close() {
      const stopped = server.stop();
      await close();
      await stopped;
      await audit.close();
      await store.close();
    },
  };
}

async function bind(
  identity: IdentityDraft,
  ports: Iterable<number>,
  isKept: boolean,
  handle: Parameters<typeof listen>[0]["handle"],
): Promise<Listener> {
  let last: unknown;
  let tried = 0;
  for (const port of ports) {
    tried = port;
    try {
      return await listen({
        host: HOST,
        port,
        certificate: identity.serving.certificate,
        key: identity.serving.key,
        handle,
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      last = error;
      if (isKept) throw new PortTaken(port, error);
    }
  }
  throw new PortTaken(tried, last);
}

interface Assembled {
  handle: Parameters<typeof listen>[0]["handle"];
  /** Puts in what must be there and starts the controllers. */
  start(identity: Identity): Promise<void>;
  stop(): Promise<void>;
}

function assemble(
  store: Store,
  audit: AuditLog,
  identity: IdentityDraft,
  { clock, log, version, signingDurationMs }: ClusterOptions,
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

  const registry: RegistryDependencies = {
    store,
    clock,
    admission: createAdmission(authorizer),
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
  const kindDependencies = dependenciesOfKinds({ store, registry, authenticator, authorizer, signingKey });
  const builtin = builtinResources(kindDependencies);
  const catalog = new LiveCatalog([
    ...builtin,
    definitionResource({
      definitions: () => store.list(DEFINITIONS).items as unknown as CustomResourceDefinition[],
      builtins: () => builtin,
    }),
  ]);
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

  let stopControllers = async () => {};
  return {
    handle: createHandler({
      registry,
      authenticator,
      authorizer,
      limiter,
      pages,
      observers: [auditObserver(audit, clock), requestMetrics(metrics, limiter)],
      clock,
      log,
      stopping: stopping.signal,
    }),
    async start({ port, authority }) {
      serverAddress = `${HOST}:${port}`;
      await putInPlace(writer, { authority: authority.certificate, host: HOST, port, now: clock.now() });
      stopControllers = runServerControllers({
        store,
        clock,
        log,
        controllers: [
          namespaceContentController({ store, writer, authorityPem: authority.certificate }),
          namespaceDeletionController({ store, writer, clock }),
          definitionDeletionController({ store, writer, clock }),
          clusterRoleAggregationController({ store, writer }),
          csrSigningController({ store, writer, authority, signingDurationMs, clock }),
          tokenSecretController({ store, writer, key: signingKey, authorityPem: authority.certificate }),
        ],
      });
    },
    async stop() {
      stopping.abort();
      await stopControllers();
      await useDays.written();
      unfollow();
      authorizer.close();
    },
  };
}

/** Namespaces first, one by one, because the rest lies in them; the rest together, in one commit of the log. */
async function putInPlace(writer: SystemWriter, facts: Parameters<typeof bootstrapObjects>[0]): Promise<void> {
  const objects = bootstrapObjects(facts);
  const isNamespace = ({ storage }: { storage: string }) => storage === "core/namespaces";
  await Promise.all(objects.filter(isNamespace).map(({ storage, object }) => writer.ensure(storage, object)));
  await Promise.all(
    objects.filter((each) => !isNamespace(each)).map(({ storage, object }) => writer.ensure(storage, object)),
  );
}

function dependenciesOfKinds(parts: {
  store: Store;
  registry: RegistryDependencies;
  authenticator: Authenticator;
  authorizer: Authorizer;
  signingKey: ReturnType<typeof tokenSigningKey>;
}): KindDependencies {
  const { store, registry, authenticator, authorizer, signingKey } = parts;
  return {
    lookup: (storage, key) => store.head(storage, key),
    async change(storage, key, edit) {
      await store.write(storage, key, (current) => {
        if (!current) throw notFound({ group: "", kind: storage.replace("core/", ""), name: splitKey(key).name });
        const draft = clone(current);
        edit(draft);
        return draft;
      });
    },
    async evict(pod, options, context) {
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
    rulesReview: (user, namespace) => rulesReviewStatus(authorizer.rulesFor(user, namespace)),
    addresses: createServiceAddresses(store),
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
