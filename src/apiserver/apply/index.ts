/**
 * Who owns which field of an object: managedFields after every write, and server-side apply with its conflicts and
 * its pruning. Nothing here reads or stores anything; the verbs say what was, what is wanted and by whom.
 */
export { type Application, type Applied, applyConfiguration } from "./apply-configuration.ts";
export { builtinType } from "./builtin-types.ts";
export { equalButTimes } from "./equal-but-times.ts";
export { managersFlaw } from "./managers.ts";
export { type Path, type PathSet, pathSet } from "./path-set.ts";
export { resetFields } from "./reset-fields.ts";
export { managersOfScale, managersOfScaled, SCALE_VERSION } from "./scale-managers.ts";
export type { VersionedType, Versions, Write } from "./take-over.ts";
export { trackUpdate, type Update } from "./track-update.ts";
export { builtinVersion, customVersions, type ToVersion } from "./versions.ts";
