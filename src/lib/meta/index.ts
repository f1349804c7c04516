/**
 * The metadata that all objects share: copies with other labels, annotations, finalizers or owners. Objects are
 * never changed in place, and the same object comes back when there is nothing to change.
 */
export { describe, isDeleting } from "./describe.ts";
export { hasFinalizer, withFinalizer, withoutFinalizer } from "./finalizers.ts";
export { withAnnotations, withLabels } from "./labels.ts";
export { controllerOf, isOwnedBy, ownerReference, withOwner } from "./owners.ts";
