import { describe, expect, it } from "vitest";
import type { ExecConfig, PluginName } from "#kube";
import { ownPluginOf, ownProvider } from "./index.ts";

const own = { commands: [["/node", "/main.js"], ["/bin/capstan"]], kubeconfigs: ["/hub"] };

function exec(
  plugin: PluginName,
  more: Partial<ExecConfig> = {},
  capstan: [string, ...string[]] = ["/node", "/main.js"],
): ExecConfig {
  const { exec: config } = ownProvider({ plugin, capstan, kubeconfig: "/hub" });
  if (!config) throw new Error("a provider of our own has a program");
  return { ...config, ...more };
}

const withArgs = (...args: string[]) => exec("cp-creds", { args: ["/main.js", "plugin", "cp-creds", ...args] });

describe("our own program", () => {
  it.each<[string, ExecConfig, object]>([
    ["by its interpreter", exec("secretreader"), { builtin: "secretreader" }],
    ["by its path", exec("secretreader", {}, ["/bin/capstan"]), { builtin: "secretreader" }],
    ["without a kubeconfig", exec("secretreader", { env: [] }), { builtin: "secretreader" }],
    ["with a flag", withArgs("--managed-serviceaccount=m=1"), { builtin: "cp-creds", managedServiceAccount: "m=1" }],
    [
      "with a flag in two words",
      withArgs("--managed-serviceaccount", "m"),
      { builtin: "cp-creds", managedServiceAccount: "m" },
    ],
  ])("is recognized %s", (_, config, plugin) => {
    expect(ownPluginOf(config, own)).toEqual(plugin);
  });

  it.each<[string, ExecConfig]>([
    ["another program", exec("secretreader", { command: "/other" })],
    ["another plugin", exec("secretreader", { args: ["/main.js", "plugin", "magic"] })],
    ["another command", exec("secretreader", { args: ["/main.js", "up"] })],
    ["another hub", exec("secretreader", { env: [{ name: "KUBECONFIG", value: "/other" }] })],
    ["other variables", exec("secretreader", { env: [{ name: "NAMESPACE", value: "n" }] })],
    ["no word of the cluster", exec("secretreader", { provideClusterInfo: false })],
    ["flags that are not known", exec("secretreader", { args: ["/main.js", "plugin", "secretreader", "--x"] })],
    ["no flag where one is needed", withArgs()],
    ["too many flags", withArgs("--managed-serviceaccount", "m", "--x")],
  ])("is run as it stands with %s", (_, config) => {
    expect(ownPluginOf(config, own)).toBeUndefined();
  });
});
