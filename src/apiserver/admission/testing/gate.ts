/** What tests of admission stand on: a cluster in memory, the verbs, and webhooks that answer inside of this process. */
import { onTestFinished } from "vitest";
import type { AdmissionRequest, AdmissionResponse, AdmissionReview } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { LiveCatalog } from "../../catalog.ts";
import { builtinResources } from "../../kinds/index.ts";
import { dependencies as kindDependencies } from "../../kinds/testing/drafts.ts";
import type { NamedTarget, RegistryDependencies } from "../../registry/index.ts";
import type { RequestContext } from "../../resource.ts";
import { openStore } from "../../store/index.ts";
import type { Called, WebhookCaller } from "../../webhooks/index.ts";
import { createAdmission } from "../index.ts";

/** What a webhook says to a request; what it does not say is that it allows. */
export type Say = (request: AdmissionRequest) => Partial<AdmissionResponse> | Promise<Partial<AdmissionResponse>>;

export interface Gate {
  readonly registry: RegistryDependencies;
  readonly clock: ManualClock;
  /** The webhooks that were asked, in order, by the first part of their names. */
  readonly asked: string[];
  /** What the last request was told beside its answer. */
  readonly warnings: string[];
  readonly remarks: Record<string, string>;
  context(more?: Partial<RequestContext>): RequestContext & { fieldValidation: "Ignore" };
  target(plural: string, name?: string, group?: string): NamedTarget;
  get(storage: string, key: string): DynamicObject | undefined;
  /** Configures one webhook in a configuration of its own, and what it says or does. */
  hook(role: "mutating" | "validating", name: string, does: Say | Called | Error, more?: object): Promise<void>;
}

const EVERYTHING = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
const NAMESPACE = "default";

export async function gate(): Promise<Gate> {
  const store = await openStore({ durability: "memory" });
  const clock = new ManualClock();
  const behaviours = new Map<string, Say | Called | Error>();
  const asked: string[] = [];
  const warnings: string[] = [];
  const remarks: Record<string, string> = {};
  const caller: WebhookCaller = {
    async call({ url = "" }, body) {
      const { request } = body as AdmissionReview;
      asked.push(url);
      const does = behaviours.get(url);
      if (!request || !does) throw new Error(`nobody is at ${url}`);
      if (does instanceof Error) throw does;
      if (typeof does !== "function") return does;
      const response = { uid: request.uid, allowed: true, ...(await does(request)) };
      return { answer: { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response } };
    },
    simulatedService: () => undefined,
  };
  const catalog = new LiveCatalog(
    builtinResources(kindDependencies({ lookup: (storage, key) => store.head(storage, key) })),
  );
  const admission = createAdmission({
    store,
    catalog: () => catalog,
    caller,
    clock,
    authorizer: {
      authorize: () => ({ allowed: true, reason: "" }),
      rulesFor: () => [],
      rulesOfRole: () => undefined,
      close: () => {},
    },
  });
  onTestFinished(async () => {
    admission.close();
    await store.close();
  });
  const put = (storage: string, object: DynamicObject) => {
    const { namespace, name } = object.metadata;
    return store.write(storage, namespace ? `${namespace}/${name}` : name, () => object);
  };
  await put("core/namespaces", {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: NAMESPACE, labels: { a: "b" } },
  });
  await put("core/serviceaccounts", {
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name: "default", namespace: NAMESPACE },
  });

  return {
    registry: { store, clock, catalog, admission, mayCreate: () => true },
    clock,
    asked,
    warnings,
    remarks,
    context: (more = {}) => ({
      user: { username: "alice", groups: ["devs"] },
      now: clock.now(),
      dryRun: false,
      fieldManager: "test",
      fieldValidation: "Ignore",
      warn: (text) => void warnings.push(text),
      annotate: (key, value) => {
        remarks[key] = value;
      },
      ...more,
    }),
    target(plural, name = "x", group = "") {
      const resource = catalog.find(group, "v1", plural);
      if (!resource) throw new Error(`${plural} are not served`);
      return { resource, ...(resource.namespaced && { namespace: NAMESPACE }), name };
    },
    get: (storage, key) => store.get(storage, key),
    async hook(role, name, does, more = {}) {
      behaviours.set(name, does);
      const webhook = {
        name: `${name}.example.com`,
        clientConfig: { url: name },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
        failurePolicy: "Fail",
        rules: [EVERYTHING],
        ...more,
      };
      await put(`admissionregistration.k8s.io/${role}webhookconfigurations`, {
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: role === "mutating" ? "MutatingWebhookConfiguration" : "ValidatingWebhookConfiguration",
        metadata: { name },
        webhooks: [webhook],
      });
    },
  };
}

/** An answer that changes the object. */
export function patching(...operations: readonly object[]): Partial<AdmissionResponse> {
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") };
}
