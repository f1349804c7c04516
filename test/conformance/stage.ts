/** What the parts of the suite share: one server, its administrator, and namespaces to play in. */
import { connectionOf, type Kubeconfig } from "#kube";
import { certified, type RawClient, type Reply, rawClient } from "../support/raw.ts";

/** All that the suite asks of a server. */
export interface ServerUnderTest {
  /** Of the administrator. */
  readonly kubeconfig: Kubeconfig;
  /** The file to which it writes audit events of level Metadata, one a line. */
  readonly auditLog: string;
  close(): Promise<void>;
}

export interface Stage {
  /** Where it is, the PEM of whom its certificate comes from, and where it logs: for what is no request. */
  readonly server: { readonly url: string; readonly authority: string; readonly auditLog: string };
  readonly admin: RawClient;
  /** A new namespace of a name nobody else has. */
  namespace(): Promise<string>;
  /** Somebody else with a certificate; the same one each time for the same name. */
  user(name: string, groups?: string[]): Promise<RawClient>;
}

/** Known when the server runs: parts ask for it inside of their tests. */
export type Staged = () => Stage;

export async function stageOf({ kubeconfig, auditLog }: ServerUnderTest): Promise<Stage> {
  const { server: url, ca: authority = "" } = await connectionOf(kubeconfig);
  const admin = await rawClient({ kubeconfig });
  const users = new Map<string, Promise<RawClient>>();
  return {
    server: { url, authority, auditLog },
    admin,
    async namespace() {
      const made = await admin.post("/api/v1/namespaces", { metadata: { generateName: "suite-" } });
      return made.body.metadata.name;
    },
    user(name, groups = []) {
      const known = users.get(name) ?? certified(admin, name, groups).then((caller) => admin.as(caller));
      users.set(name, known);
      return known;
    },
  };
}

/**
 * The nodes of a server under test take only Pods that ask for it, because most parts of the suite say themselves what
 * becomes of their Pods.
 */
export const NODES = { count: 2, taint: { key: "suite.example/nodes", effect: "NoSchedule" } } as const;

/** Of the spec of a Pod that is to run. */
export const ON_NODES = { tolerations: [{ key: NODES.taint.key, operator: "Exists" }] } as const;

export const at = (namespace: string, plural: string, name?: string): string =>
  `/api/v1/namespaces/${namespace}/${plural}${name === undefined ? "" : `/${name}`}`;

export const inGroup = (group: string, version: string, plural: string, namespace?: string, name?: string): string =>
  `/apis/${group}/${version}${namespace === undefined ? "" : `/namespaces/${namespace}`}/${plural}${name === undefined ? "" : `/${name}`}`;

/** What programs look at in a refusal; causes once each and by field, because their number and order are chance. */
export function refusal({ code, body }: Reply): { code: number; reason: string | undefined; causes?: string[] } {
  const causes = body.details?.causes?.map((cause) => `${cause.field ?? ""} ${cause.reason ?? ""}`.trim());
  return { code, reason: body.reason, ...(causes && { causes: [...new Set(causes)].toSorted() }) };
}

export function refused(code: number, reason: string | undefined, ...causes: string[]): ReturnType<typeof refusal> {
  return { code, reason, ...(causes.length > 0 && { causes: causes.toSorted() }) };
}

export const deployment = (name: string, replicas = 1) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: "main", image: "registry.example/app:1" }] },
    },
  },
});
