/** The storage, scheduling and node groups: classes that Pods and claims refer to. */
import { field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { ensure, fill, fillText, listAt, textAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/groups.ts";
import { nameAndAge } from "./tables/layout.ts";
import { immutable } from "./validation.ts";

const storage = (kind: string): GroupVersionKind => ({ group: "storage.k8s.io", version: "v1", kind });

const storageClasses = resource({
  ...storage("StorageClass"),
  showsDeleted: true,
  plural: "storageclasses",
  namespaced: false,
  shortNames: ["sc"],
  table: tables.storageClasses,
  default: (draft) => fillText(draft, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  validate: (object) => (textAt(object, "provisioner") ? [] : [field.required("provisioner")]),
  validateChange: (object, current) =>
    ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"].flatMap((key) =>
      immutable(key, object[key], current[key]),
    ),
});

const csiDrivers = resource({
  ...storage("CSIDriver"),
  plural: "csidrivers",
  namespaced: false,
  table: tables.csiDrivers,
  unconditionalUpdate: false,
  default(draft) {
    const spec = ensure(draft, "spec");
    fill(spec, {
      attachRequired: true,
      podInfoOnMount: false,
      storageCapacity: false,
      requiresRepublish: false,
      seLinuxMount: false,
    });
    fillText(spec, { fsGroupPolicy: "ReadWriteOnceWithFSType" });
    if (listAt(spec, "volumeLifecycleModes").length === 0) spec.volumeLifecycleModes = ["Persistent"];
  },
});

const csiNodes = resource({
  ...storage("CSINode"),
  plural: "csinodes",
  namespaced: false,
  unconditionalUpdate: false,
});

const csiStorageCapacities = resource({
  ...storage("CSIStorageCapacity"),
  plural: "csistoragecapacities",
  namespaced: true,
  unconditionalUpdate: false,
});

const volumeAttachments = resource({
  ...storage("VolumeAttachment"),
  plural: "volumeattachments",
  namespaced: false,
  unconditionalUpdate: false,
  hasStatus: true,
  subresources: [statusOf(storage("VolumeAttachment"))],
});

const volumeAttributesClasses = resource({
  ...storage("VolumeAttributesClass"),
  plural: "volumeattributesclasses",
  namespaced: false,
  shortNames: ["vac"],
  table: nameAndAge,
});

const priorityClasses = resource({
  group: "scheduling.k8s.io",
  version: "v1",
  kind: "PriorityClass",
  plural: "priorityclasses",
  namespaced: false,
  shortNames: ["pc"],
  table: tables.priorityClasses,
  tracksGeneration: true,
  default: (draft) => fillText(draft, { preemptionPolicy: "PreemptLowerPriority" }),
  validateChange: (object, current) =>
    ["value", "preemptionPolicy"].flatMap((key) => immutable(key, object[key], current[key])),
});

const runtimeClasses = resource({
  group: "node.k8s.io",
  version: "v1",
  kind: "RuntimeClass",
  plural: "runtimeclasses",
  namespaced: false,
  table: tables.runtimeClasses,
  unconditionalUpdate: false,
  createOnUpdate: true,
  validate: (object) => (textAt(object, "handler") ? [] : [field.required("handler")]),
  validateChange: (object, current) => immutable("handler", object.handler, current.handler),
});

export const storageResources: readonly Resource[] = [
  storageClasses,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  volumeAttachments,
  volumeAttributesClasses,
  priorityClasses,
  runtimeClasses,
];
