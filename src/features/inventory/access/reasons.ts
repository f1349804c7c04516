/** Why a cluster of the inventory cannot be reached: words that end up in conditions. */
import { isKubeError } from "#kube";

export const AccessReason = {
  /** Nobody said how profiles are to be read: there is no provider file, or it cannot be used. */
  notConfigured: "AccessProviderNotConfigured",
  /** The profile offers no way in that the provider file knows. */
  disabled: "MulticlusterDisabled",
  /** There is a way in, and it does not work: what it is made of makes no sense, or its plugin failed. */
  failed: "AccessProviderFailed",
  /** What the profile says of the server makes no connection: its address, or its authorities. */
  clientFailed: "RemoteClientCreationFailed",
} as const;
export type AccessReason = (typeof AccessReason)[keyof typeof AccessReason];

export interface AccessFailure {
  readonly reason: AccessReason;
  /** For people: what is wrong and what to do. It holds no secret, and stays the same while nothing changes. */
  readonly message: string;
}

export function isAccessFailure(value: object): value is AccessFailure {
  return "reason" in value && "message" in value;
}

/** What a failed call to a cluster says about the way in; undefined where the way in is not to blame. */
export function accessFailureOf(error: unknown): AccessFailure | undefined {
  if (!isKubeError(error) || error.kind !== "credentials") return undefined;
  const { message } = error.cause instanceof Error ? error.cause : error;
  return { reason: AccessReason.failed, message };
}
