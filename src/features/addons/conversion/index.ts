/** Add-on objects in the version that somebody asks for: v1alpha1, in which they are stored, or v1beta1. */
export { convert } from "./review.ts";
