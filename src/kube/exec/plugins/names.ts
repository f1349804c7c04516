/** The credential plugins that Capstan has itself. Each reads a Secret on the hub. */

export const PLUGIN_NAMES = ["secretreader", "kubeconfig-secretreader", "token-secretreader", "cp-creds"] as const;
export type PluginName = (typeof PLUGIN_NAMES)[number];

export function isPluginName(name: string): name is PluginName {
  return (PLUGIN_NAMES as readonly string[]).includes(name);
}

/** What is wrong, in the words by which plugins of these names are known; it never quotes a Secret. */
export class PluginError extends Error {
  override readonly name = "PluginError";
}
