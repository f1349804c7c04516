/** What was there before a section was recorded, and is not in the recording. */
import { eventually } from "../../support/eventually.ts";
import type { Body, RawClient } from "../../support/raw.ts";
import type { Recording } from "./recordings.ts";

export interface Preparation {
  /** Sections whose objects this one goes on with. */
  readonly after?: readonly string[];
  before?(admin: RawClient, recordings: readonly Recording[]): Promise<void>;
}

export const PREPARATIONS: Readonly<Record<string, Preparation>> = {
  update: { after: ["create"] },
  patch: { after: ["create", "update"] },
  list: { before: sevenSecrets },
  watch: { before: sevenSecrets },
  delete: { before: sevenSecrets },
  crd: { before: widgetDefinition },
};

/** Every cluster has these, a moment after it started. */
export async function untilFurnished(admin: RawClient): Promise<void> {
  await eventually(async () => {
    for (const path of ["configmaps/kube-root-ca.crt", "serviceaccounts/default"]) {
      const { code } = await admin.get(`/api/v1/namespaces/default/${path}`);
      if (code !== 200) throw new Error(`${path} is missing`);
    }
  });
}

async function sevenSecrets(admin: RawClient): Promise<void> {
  for (let i = 0; i < 7; i++) {
    await admin.post("/api/v1/namespaces/default/secrets", {
      metadata: { name: `s${i}`, labels: { i: String(i % 2) } },
      data: { a: "Yg==" },
    });
  }
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The first recording shows the definition, with the text it was made of in an annotation. */
async function widgetDefinition(admin: RawClient, [first]: readonly Recording[]): Promise<void> {
  const shown = (first?.response ?? {}) as Partial<Body>;
  const text = shown.metadata?.annotations?.[LAST_APPLIED] ?? "";
  const definition = JSON.parse(text) as Body;
  await admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
    ...definition,
    metadata: { ...definition.metadata, annotations: { [LAST_APPLIED]: text } },
  });
}
