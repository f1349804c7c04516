/** AppliedManifestWork: on a spoke, what is there because of one ManifestWork. The objects name it as an owner. */
import { crd } from "#api/apiextensions";
import { type KubeObject, kind } from "#api/meta";
import { dateTime, type Infer, list, object, optional, string } from "#api/schema";
import { WORK_GROUP } from "./names.ts";

const spec = object({
  hubHash: string({ description: "Stands for the hub that the work came from." }),
  agentID: optional(string({ description: "The agent that looks after it." })),
  manifestWorkName: string(),
});

const appliedResource = object({
  group: optional(string()),
  version: string(),
  resource: string(),
  namespace: optional(string()),
  name: string(),
  uid: optional(string()),
});

const status = object({
  appliedResources: optional(list(appliedResource)),
  evictionStartTime: optional(dateTime()),
});

export type AppliedResource = Infer<typeof appliedResource>;

export interface AppliedManifestWork extends KubeObject {
  spec?: Infer<typeof spec>;
  status?: Infer<typeof status>;
}
export const AppliedManifestWork = kind<AppliedManifestWork>({
  group: WORK_GROUP,
  version: "v1",
  kind: "AppliedManifestWork",
  plural: "appliedmanifestworks",
  namespaced: false,
});

export const appliedManifestWorkCrd = crd({
  group: WORK_GROUP,
  names: { kind: "AppliedManifestWork", plural: "appliedmanifestworks" },
  scope: "Cluster",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      status: true,
      schema: object({ spec: optional(spec), status: optional(status) }).schema,
    },
  ],
});
