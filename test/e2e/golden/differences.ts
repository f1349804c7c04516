/**
 * Where the recordings, of Kubernetes 1.37, do not fit: first because 1.36 answered otherwise, then because we do.
 * An unlisted difference fails, and so does a listed one that is gone.
 */
import { isObject } from "#lib/json";
import type { Answer } from "./comparison.ts";

/** What changed from 1.36.3, which the embedded server follows, to 1.37. A real 1.36.3 gives the same answers. */
export interface Change {
  /** `section/number` of the recording. */
  readonly at: string;
  readonly change: string;
  /** The recorded answer, as 1.36.3 gives it. */
  before(recorded: Answer): Answer;
}

export const CHANGES: readonly Change[] = [
  {
    at: "basics/1",
    change: "the version itself",
    before: inBody((version) => ({
      ...version,
      minor: "36",
      emulationMinor: "36",
      minCompatibilityMinor: "35",
      gitVersion: "v1.36",
    })),
  },
  {
    at: "create/20",
    change: "an owner without uid is a required field that is missing, with its index",
    before: inBody((status) =>
      withCauses(status, (cause) => [
        cause.field === "metadata.ownerReferences[0].uid"
          ? { ...cause, reason: "FieldValueInvalid", field: "metadata.ownerReferences.uid" }
          : cause,
      ]),
    ),
  },
  {
    at: "delete/11",
    change: "flaws of changed metadata are told once",
    before: inBody((status) => withCauses(status, (cause) => [cause, cause])),
  },
  {
    at: "defaults/4",
    change: "a StatefulSet gets maxUnavailable by default",
    before: inBody((set) => {
      const { spec } = set as { spec: { updateStrategy: Record<string, unknown> } };
      const updateStrategy = { ...spec.updateStrategy, rollingUpdate: { partition: 0 } };
      return { ...set, spec: { ...spec, updateStrategy } };
    }),
  },
  {
    at: "discovery/2",
    change: "storagemigration.k8s.io is served",
    before: inBody((list) => withoutGroup(list, "storagemigration.k8s.io")),
  },
];

/** Where a server differs, and why that is right, or right for now. */
export interface Difference {
  /** `section/number` of the recordings. */
  readonly at: readonly string[];
  readonly difference: string;
  readonly why: string;
  /** Whether it depends on which of two came first; else a difference that is gone fails, too. */
  readonly sometimes?: boolean;
  /** The answer without the difference; nothing else may differ. */
  apart?(answer: Answer): Answer;
}

/** Of a moment, on any server: the recorded requests do not wait for the rollout that they cause. */
export const ROLLOUT: Difference = {
  at: Array.from({ length: 17 }, (_, index) => `smp/${index + 1}`),
  difference: "another revision, and another status of the rollout",
  why: "the deployment controller runs meanwhile, faster or slower than when it was recorded",
  sometimes: true,
  apart: withoutRollout,
};

/** Of the embedded server. */
export const DIFFERENCES: readonly Difference[] = [
  { at: ["basics/3"], difference: "other checks", why: "what there is to check depends on how a server is built" },
  {
    at: ["authz/11", "authz/12"],
    difference: "ES256 with a key on an elliptic curve, found at the issuer",
    why: "such keys are smaller and faster, and every client knows them",
    apart: withoutKeys,
  },
  {
    at: ["discovery/2"],
    difference: "no resource.k8s.io",
    why: "there are no devices to claim",
    apart: inBody((list) => withoutGroup(list, "resource.k8s.io")),
  },
  {
    at: ["delete/22"],
    difference: "the object is marked as deleted already",
    why: "our namespace controller is faster than the recording one",
    sometimes: true,
    apart: withoutDeletion,
  },
  ROLLOUT,
];

/** What is known of the keys of tokens, without the keys. */
export function withoutKeys(answer: Answer): Answer {
  return inBody(({ jwks_uri: _, id_token_signing_alg_values_supported: _algorithms, keys: _keys, ...kept }) => kept)(
    answer,
  );
}

/** A Deployment without what its controller writes when it gets to it. */
export function withoutRollout(answer: Answer): Answer {
  return inBody(({ status: _, metadata, ...object }) => {
    const { annotations = {}, ...kept } = metadata as { annotations?: Record<string, string> };
    const { "deployment.kubernetes.io/revision": _revision, ...others } = annotations;
    return { ...object, metadata: { ...kept, ...(Object.keys(others).length > 0 && { annotations: others }) } };
  })(answer);
}

/** An object as it was before somebody deleted it. */
export function withoutDeletion(answer: Answer): Answer {
  return inBody(({ metadata, ...object }) => {
    const { deletionTimestamp: _, deletionGracePeriodSeconds: _seconds, ...kept } = metadata as Record<string, unknown>;
    return { ...object, metadata: kept };
  })(answer);
}

function inBody(change: (body: Record<string, unknown>) => Record<string, unknown>): (answer: Answer) => Answer {
  return (answer) => (isObject(answer.body) ? { ...answer, body: change(answer.body) } : answer);
}

interface Cause {
  readonly field?: string;
}

function withCauses(status: Record<string, unknown>, change: (cause: Cause) => Cause[]): Record<string, unknown> {
  const details = status.details as { causes: Cause[] };
  return { ...status, details: { ...details, causes: details.causes.flatMap(change) } };
}

function withoutGroup(list: Record<string, unknown>, name: string): Record<string, unknown> {
  return { ...list, groups: (list.groups as { name: string }[]).filter((group) => group.name !== name) };
}
