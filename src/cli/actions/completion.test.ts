import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { completionScript } from "./completion.ts";

function tree(): Command {
  const get = new Command("get").description("show things").addCommand(
    new Command("clusters")
      .alias("cluster")
      .description("what's there: all of it")
      .option("--kubeconfig <file>", "the kubeconfig to use")
      .addOption(new Option("-o, --output <form>", "how [to] show").choices(["table", "json"]))
      .addOption(new Option("--secret-flag <x>", "no one's business").hideHelp()),
  );
  return new Command("capstan").addCommand(get).addCommand(new Command("version").option("--client", "only this"));
}

const BASH = "/bin/bash";

/** What bash offers after these words. */
function offered(...words: string[]): string[] {
  const script = `${completionScript("bash", tree())}
COMP_WORDS=(capstan ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _capstan; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync(BASH, ["-c", script], { encoding: "utf8" });
  return out.split("\n").filter((line) => line !== "");
}

describe.runIf(existsSync(BASH))("bash", () => {
  it.each<[words: string[], offers: string[]]>([
    [[""], ["get", "version"]],
    [["g"], ["get"]],
    [["get", ""], ["clusters"]],
    [
      ["get", "clusters", "--"],
      ["--kubeconfig", "--output", "--help"],
    ],
    [["get", "cluster", "--o"], ["--output"]],
    [
      ["get", "clusters", "-o", ""],
      ["table", "json"],
    ],
    [["get", "clusters", "--output", "j"], ["json"]],
    [["get", "clusters", "--kubeconfig", "x", "--o"], ["--output"]],
    [["get", "--kubeconfig", "get", "clusters", "--k"], ["--kubeconfig"]],
    [["version", "--c"], ["--client"]],
    [
      ["nothing", ""],
      ["get", "version"],
    ],
  ])("%j offers %j", (words, offers) => {
    expect(offered(...words)).toEqual(offers);
  });
});

it.each(["bash", "zsh", "fish"] as const)("%s has every command and flag, and none that is hidden", (shell) => {
  const script = completionScript(shell, tree());
  for (const word of ["get", "clusters", "version", "kubeconfig", "output", "client"]) expect(script).toContain(word);
  expect(script).not.toContain("secret-flag");
});

it("quotes what people write in descriptions", () => {
  expect(completionScript("fish", tree())).toContain("'what\\'s there: all of it'");
  const zsh = completionScript("zsh", tree());
  expect(zsh).toContain("what’s there\\: all of it");
  expect(zsh).toContain("how \\[to\\] show");
});
