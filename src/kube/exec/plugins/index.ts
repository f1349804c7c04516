/** Our own credential plugins: as programs for other people's clients, and as readings for built-in providers. */
export { isPluginName, PLUGIN_NAMES, PluginError, type PluginName } from "./names.ts";
export { type PluginProgram, readCredential, runPlugin } from "./program.ts";
export { type Reading, type ReadingOptions, readingOf } from "./reading.ts";
export { inferredNamespace, type Surroundings } from "./surroundings.ts";
