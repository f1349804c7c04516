/** Manifests as people keep them: files, folders and standard input, with YAML read as kubectl reads it. */
export { type Manifest, manifestsIn, problemOf } from "./objects.ts";
export { ManifestError, type ReadManifestsOptions, readManifests } from "./read.ts";
