/** The volume claims of a StatefulSet's Pods: made before the Pod, kept or deleted as the set's policy says. */
import type { StatefulSet } from "#api/apps";
import type { Pod } from "#api/core";
import type { DynamicObject, KubeObject, OwnerReference } from "#api/meta";
import { equal } from "#lib/json";
import { ownerReference } from "#lib/meta";
import type { Store } from "../../../store/index.ts";
import type { EventTeller } from "../../events.ts";
import type { SystemWriter } from "../../system.ts";
import type { Stored } from "../stored.ts";
import { claimName, isWished, podName, type Stateful } from "./identity.ts";

export const CLAIMS = "core/persistentvolumeclaims";

export interface VolumeClaims {
  /** Creates those that a Pod of that ordinal lacks. */
  ensure(set: Stateful, ordinal: number): Promise<void>;
  /** Gives the claims of an ordinal to those who take them along when they are deleted. */
  settle(set: Stateful, ordinal: number, pod?: Stored<Pod>): Promise<void>;
  /** Whether a claim belongs to an earlier Pod of that name and will go as soon as somebody collects it. */
  areStale(set: Stateful, ordinal: number): boolean;
}

export function volumeClaims(options: { store: Store; writer: SystemWriter; teller: EventTeller }): VolumeClaims {
  const { store, writer, teller } = options;
  const keysOf = (set: Stateful, ordinal: number): string[] =>
    (set.spec.volumeClaimTemplates ?? []).map(
      (template) => `${set.metadata.namespace}/${claimName(set, template, ordinal)}`,
    );

  async function create(set: Stateful, ordinal: number, template: DynamicObject): Promise<void> {
    const name = claimName(set, template, ordinal);
    const pod = podName(set, ordinal);
    try {
      await writer.create(CLAIMS, claimFrom(set, template, name));
    } catch (error) {
      const message = `Create Claim ${name} for Pod ${pod} in StatefulSet ${set.metadata.name} failed error: ${textOf(error)}`;
      teller.tell(set, { type: "Warning", reason: "FailedCreate", message });
      throw error;
    }
    const message = `Create Claim ${name} Pod ${pod} in StatefulSet ${set.metadata.name} success`;
    teller.tell(set, { reason: "SuccessfulCreate", message });
  }

  return {
    async ensure(set, ordinal) {
      for (const template of set.spec.volumeClaimTemplates ?? []) {
        const name = claimName(set, template, ordinal);
        const claim = store.get(CLAIMS, `${set.metadata.namespace}/${name}`);
        if (claim?.metadata.deletionTimestamp) throw new Error(`pvc ${name} is being deleted`);
        if (!claim) await create(set, ordinal, template);
      }
    },
    async settle(set, ordinal, pod) {
      const isKept = isWished(set, ordinal);
      for (const key of keysOf(set, ordinal)) {
        const claim = store.get(CLAIMS, key);
        if (!claim || equal(claimOwners(claim, { set, pod, isKept }), claim.metadata.ownerReferences ?? [])) continue;
        await writer.change(CLAIMS, key, (draft) => {
          const ownerReferences = claimOwners(draft, { set, pod, isKept });
          return { ...draft, metadata: { ...draft.metadata, ownerReferences } };
        });
      }
    },
    areStale(set, ordinal) {
      if (policyOf(set).whenScaled === "Retain") return false;
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: podName(set, ordinal) } };
      const references = keysOf(set, ordinal).flatMap((key) => store.get(CLAIMS, key)?.metadata.ownerReferences ?? []);
      return references.some((reference) => names(reference, pod));
    },
  };
}

/** Whom a claim may belong to. */
interface Claiming {
  readonly set: Stateful;
  /** The Pod that uses it, if it exists. */
  readonly pod: Stored<Pod> | undefined;
  /** Whether the set wishes for that Pod. */
  readonly isKept: boolean;
}

/**
 * Who should own a claim: the Pod, when it is not wished for any more and claims go when a set shrinks; else the set,
 * when claims go with sets; else nobody.
 */
export function claimOwners(
  { metadata: { ownerReferences = [] } }: Pick<KubeObject, "metadata">,
  { set, pod, isKept }: Claiming,
): OwnerReference[] {
  const ours = pod ? [set, pod] : [set];
  const isOurs = (reference: OwnerReference) => ours.some((owner) => names(reference, owner));
  const isStale = (reference: OwnerReference) =>
    ours.some((owner) => names(reference, owner) && reference.uid !== owner.metadata.uid);
  // It belongs to a set or Pod of the same name that is gone: the garbage collector will see to it.
  if (ownerReferences.some(isStale)) return ownerReferences;

  const { whenDeleted, whenScaled } = policyOf(set);
  const others = ownerReferences.filter((reference) => !isOurs(reference));
  const keepsAll = whenDeleted === "Retain" && whenScaled === "Retain";
  if (keepsAll || others.some(({ controller }) => controller)) return others;
  if (pod && !isKept && whenScaled === "Delete") return [...others, ownerReference(pod)];
  return whenDeleted === "Delete" ? [...others, ownerReference(set)] : others;
}

function policyOf({ spec }: StatefulSet): { whenDeleted: string; whenScaled: string } {
  return { whenDeleted: "Retain", whenScaled: "Retain", ...spec.persistentVolumeClaimRetentionPolicy };
}

/** Whether a reference is to an object of that kind and name, whichever one that is. */
function names(reference: OwnerReference, { apiVersion, kind, metadata }: KubeObject): boolean {
  return reference.apiVersion === apiVersion && reference.kind === kind && reference.name === metadata.name;
}

function claimFrom(set: Stateful, template: DynamicObject, name: string): DynamicObject {
  const { labels, annotations } = template.metadata;
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      ...(set.metadata.namespace !== undefined && { namespace: set.metadata.namespace }),
      labels: { ...labels, ...set.spec.selector.matchLabels },
      ...(annotations && { annotations }),
    },
    spec: template.spec,
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
