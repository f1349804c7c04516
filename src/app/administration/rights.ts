/** Asking what we may do before anything is begun, so that nobody is left with half of it. */
import { type ResourceAttributes, SelfSubjectAccessReview } from "#api/authorization";
import type { Kind, KubeObject } from "#api/meta";
import type { Client } from "#kube";
import { UserError } from "../user-error.ts";

/** A deed on all objects of a kind, in a namespace if it has one. */
export interface Deed {
  readonly verb: string;
  readonly kind: Kind<KubeObject>;
  readonly namespace?: string;
  readonly subresource?: string;
}

/** Those of the deeds that the server would refuse us. */
async function denied(client: Client, deeds: readonly Deed[]): Promise<Deed[]> {
  const answers = await Promise.all(deeds.map((deed) => isAllowed(client, attributesOf(deed))));
  return deeds.filter((_, index) => !answers[index]);
}

/** Throws UserError that names what we may not do. */
export async function assertAllowed(client: Client, deeds: readonly Deed[]): Promise<void> {
  const refused = await denied(client, deeds);
  if (refused.length === 0) return;
  const what = refused.map(
    ({ verb, kind, subresource }) => `${verb} ${kind.plural}${subresource ? `/${subresource}` : ""}`,
  );
  throw new UserError(
    `you may not ${what.join(", ")} on ${client.server}; ask its administrator, or choose another user with --context; nothing was changed`,
  );
}

async function isAllowed(client: Client, resourceAttributes: ResourceAttributes): Promise<boolean> {
  const review = await client.create(SelfSubjectAccessReview, { metadata: {}, spec: { resourceAttributes } });
  return review.status?.allowed === true;
}

function attributesOf({ verb, kind, namespace, subresource }: Deed): ResourceAttributes {
  return {
    verb,
    group: kind.group,
    resource: kind.plural,
    ...(namespace !== undefined && { namespace }),
    ...(subresource !== undefined && { subresource }),
  };
}
