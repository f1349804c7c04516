/** Asking the API server whether whoever made a request may do something else too. */
import type { AdmissionRequest } from "#api/admission";
import { type ResourceAttributes, SubjectAccessReview } from "#api/authorization";
import type { Client } from "#kube";
import type { Refusal } from "./ruling.ts";

type User = AdmissionRequest["userInfo"];

/** A right that whoever asks must have, and what they hear without it. */
export interface NeededRight {
  readonly right: ResourceAttributes;
  readonly refusal: Refusal;
}

/** What is refused to a user for want of a right; undefined for one who has them all. */
export async function refusalTo(
  client: Pick<Client, "create">,
  user: User,
  needed: readonly NeededRight[],
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  for (const { right, refusal } of needed) {
    if (!(await mayUser(client, user, right, signal))) return refusal;
  }
  return undefined;
}

async function mayUser(
  client: Pick<Client, "create">,
  { username, uid, groups, extra }: User,
  resourceAttributes: ResourceAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const review = await client.create(
    SubjectAccessReview,
    {
      metadata: {},
      spec: {
        user: username,
        ...(uid !== undefined && { uid }),
        ...(groups && { groups }),
        ...(extra && { extra }),
        resourceAttributes,
      },
    },
    { signal },
  );
  return review.status?.allowed === true;
}
