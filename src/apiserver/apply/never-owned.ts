/** Fields that are nobody's: identity, and what the server keeps itself. */
import { pathSet } from "./path-set.ts";

export const NEVER_OWNED = pathSet(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["f:metadata", `f:${name}`]),
);
