/** What the parts of the suite about webhooks share: a webhook on loopback, and configurations that are in force. */
import { afterAll, beforeAll, expect } from "vitest";
import type { MutatingWebhook } from "#api/admissionregistration";
import { eventually } from "../support/eventually.ts";
import {
  type Answerer,
  allowed,
  type Call,
  denied,
  startWebhookServer,
  type WebhookServer,
} from "../support/webhook-server.ts";
import { at, inGroup, type Staged } from "./stage.ts";

export type Role = "mutating" | "validating";

/** A webhook of a configuration; what it leaves out is as most of them have it. Its name is the first part of a longer one. */
export type HookWish = Partial<MutatingWebhook> & { readonly name: string };

export interface WebhookStage {
  /** Webhooks look only into this namespace, unless they say otherwise. */
  readonly space: string;
  readonly server: WebhookServer;
  /** What was asked since the answers were set. */
  calls(): readonly Call[];
  /** How webhooks answer, by name; those that are not named allow. */
  answers(answers?: Readonly<Record<string, Answerer>>): void;
  /** Makes a configuration or replaces it, and comes back when the server follows it. */
  configure(role: Role, name: string, ...hooks: readonly HookWish[]): Promise<void>;
  /** Takes away all configurations that were made here, and comes back when the server has noticed. */
  clear(): Promise<void>;
}

export const configMap = (name: string, data: object = { a: "1" }, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

/** Rules about resources of the core group. */
export const core = (resources: string[], operations = ["*"]) => [
  { operations, apiGroups: [""], apiVersions: ["v1"], resources },
];

/** ConfigMaps to ask about, and what was asked. */
export function askedAbout(stage: Staged, hooks: () => WebhookStage) {
  let count = 0;
  const path = (name?: string) => at(hooks().space, "configmaps", name);
  return {
    /** A name that no test has used. */
    fresh: () => `cm-${++count}`,
    path,
    post: (name: string, data?: object, metadata?: object) =>
      stage().admin.post(path(), configMap(name, data, metadata)),
    requests: () =>
      hooks()
        .calls()
        .map(({ review }) => review.request),
    /** The names of the webhooks that were asked, in order. */
    asked: () =>
      hooks()
        .calls()
        .map((call) => call.path.slice(1)),
  };
}

/** A real server follows configurations after a moment. One webhook in each of them tells when that has come. */
const MARKER = "webhook-marker";

export const configurations = (role: Role, name?: string): string =>
  inGroup("admissionregistration.k8s.io", "v1", `${role}webhookconfigurations`, undefined, name);

/** To be asked inside of tests, when everything runs. */
export function webhookStage(stage: Staged): () => WebhookStage {
  let ready: WebhookStage | undefined;
  beforeAll(async () => {
    ready = await prepare(stage, await stage().namespace());
  });
  afterAll(async () => {
    await ready?.clear();
    await ready?.server.close();
  });
  return () => {
    if (!ready) throw new Error("the webhook does not run yet");
    return ready;
  };
}

async function prepare(stage: Staged, space: string): Promise<WebhookStage> {
  const server = await startWebhookServer();
  const { url, caBundle } = server;
  const made = new Map<string, Role>();

  const hook = ({ name, ...more }: HookWish): MutatingWebhook => ({
    name: `${name}.example.com`,
    clientConfig: { url: `${url}/${name}`, caBundle },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": space } },
    objectSelector: { matchExpressions: [{ key: MARKER, operator: "DoesNotExist" }] },
    rules: core(["configmaps"]),
    ...more,
  });
  /** Denies the marker of its configuration, and is asked about nothing else. */
  const markerHook = (configuration: string) =>
    hook({ name: MARKER, objectSelector: { matchLabels: { [MARKER]: configuration } } });
  const isInForce = async (configuration: string): Promise<boolean> => {
    const marker = { metadata: { name: MARKER, labels: { [MARKER]: configuration } } };
    const { body } = await stage().admin.post(`${at(space, "configmaps")}?dryRun=All`, marker);
    return body.message?.includes(`"${MARKER}.example.com" denied`) ?? false;
  };

  const remove = async (name: string, role: Role) => {
    await stage().admin.delete(configurations(role, name));
    await eventually(async () => expect(await isInForce(name)).toBe(false));
    made.delete(name);
  };
  const answers: WebhookStage["answers"] = (given = {}) =>
    server.answer((review, call, response) => {
      const name = call.path.slice(1);
      if (name === MARKER) return denied(review);
      return given[name]?.(review, call, response) ?? (given[name] ? undefined : allowed(review));
    });
  answers();
  return {
    space,
    server,
    calls: () => server.calls.filter(({ review }) => review.request.name !== MARKER),
    answers,
    async configure(role, name, ...hooks) {
      const before = made.get(name);
      if (before) await remove(name, before);
      const webhooks = [markerHook(name), ...hooks.map(hook)];
      const reply = await stage().admin.post(configurations(role), { metadata: { name }, webhooks });
      expect(reply.body.message).toBeUndefined();
      made.set(name, role);
      await eventually(async () => expect(await isInForce(name)).toBe(true));
    },
    async clear() {
      for (const [name, role] of made) await remove(name, role);
    },
  };
}
