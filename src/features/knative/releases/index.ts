/** The releases of Knative: where they lie, which version is meant, whether one may go there, and the manifests of it. */
export { createManifestFetcher, type ManifestFetcher, type ManifestFetcherOptions, type Pulled } from "./fetcher.ts";
export { knownVersions, officialSource, type PulledFile, pullOfficial } from "./official.ts";
export { enabledIngresses } from "./parts.ts";
export {
  createReleases,
  ReleaseError,
  type Releases,
  type ReleasesOptions,
  type TargetRelease,
} from "./releases.ts";
export { directorySource, type ManifestText, memorySource, type ReleaseSource } from "./source.ts";
export { migrationProblem, nextStep, targetVersion } from "./target-version.ts";
