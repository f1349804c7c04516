import { describe, expect, it } from "vitest";
import { endingOf } from "./command.ts";

const forever = Number.POSITIVE_INFINITY;
const sh = (script: string) => ["sh", "-c", script];

describe("how a command ends", () => {
  it.each<[argv: string[], afterMs: number, exitCode: number]>([
    [["true"], 0, 0],
    [["/bin/false"], 0, 1],
    [["exit", "3"], 0, 3],
    [["perl", "-wle", "print 1"], 0, 0],
    [["sleep", "5"], 5_000, 0],
    [["sleep", "0.5"], 500, 0],
    [["sleep", "1m", "30s"], 90_000, 0],
    [["/usr/bin/sleep", "1000"], 1_000_000, 0],
    [["sleep", "infinity"], forever, 0],
    [["sleep", "inf"], forever, 0],
    [["tail", "-f", "/dev/null"], forever, 0],
    [["tail", "-n", "5", "file"], 0, 0],
    [["pause"], forever, 0],
    [["env", "A=1", "sleep", "2"], 2_000, 0],
    [["sh", "/scripts/run.sh"], 0, 0],
    [["bash", "-euo", "pipefail", "-c", "exit 4"], 0, 4],
    [["/bin/bash", "-ec", "false; exit 0"], 0, 1],
  ])("%j", (argv, afterMs, exitCode) => {
    expect(endingOf(argv)).toEqual({ afterMs, exitCode });
  });
});

describe("how a script ends", () => {
  it.each<[script: string, afterMs: number, exitCode: number, because: string]>([
    ["exit 3", 0, 3, "it says so"],
    ["echo hi; sleep 2; exit 3", 2_000, 3, "its commands come one after the other"],
    ["sleep 1 && false", 1_000, 1, "the last command counts"],
    ["false || exit 7", 0, 7, "the second is for when the first fails"],
    ["true || exit 7", 0, 0, "the second is not needed"],
    ["false && exit 7", 0, 1, "the second is not reached"],
    ["false; true", 0, 0, "a failure in between does not matter"],
    ["set -e; false; true", 0, 1, "unless the script is strict"],
    ["set -e; false || true; exit 2", 0, 2, "a checked failure is none"],
    ["! false", 0, 0, "it was turned round"],
    ["false; exit", 0, 1, "exit alone repeats the last code"],
    ["exit 0 # exit 1", 0, 0, "the rest is a comment"],
    ["echo 'exit 1'; echo \"; exit 1\"", 0, 0, "quotes hold it together"],
    ["echo $(exit 1; echo x)", 0, 0, "a substitution is one word"],
    ["sleep 3 > /dev/null 2>&1", 3_000, 0, "a redirection is no operator"],
    ["A=1 B=2 sleep 3", 3_000, 0, "settings come before the command"],
    ["exec sleep 3; exit 1", 3_000, 0, "nothing comes after exec"],
    ["(sleep 1; exit 5)", 1_000, 5, "parentheses only group"],
    ["sh -c 'exit 6'", 0, 6, "a shell in a shell"],
    ["sleep 2 & sleep 1", 1_000, 0, "what is in the background is not waited for"],
    ["sleep 2 & sleep 1; wait", 3_000, 0, "unless it is"],
    ["while true; do echo x; sleep 1; done", forever, 0, "it says that it does not end"],
    ["until false; do sleep 1; done", forever, 0, "likewise"],
    ["until nslookup db; do sleep 2; done; exit 4", 0, 4, "what it waits for is taken to be there"],
    ["for i in 1 2 3; do sleep 1; done; false", 1_000, 1, "a loop with an end is gone through once"],
    ["if [ -f /done ]; then exit 0; else exit 1; fi", 0, 0, "a condition is taken to hold"],
    ["if false; then exit 2; else exit 3; fi", 0, 3, "unless it is known not to"],
    ["if false; then exit 2; elif true; then exit 4; else exit 3; fi", 0, 4, "the second condition holds"],
    ["trap 'exit 0' TERM\nsleep 1\nexit 9", 1_000, 9, "lines are commands too"],
    ["sleep 5\\\n0", 50_000, 0, "an escaped end of line joins"],
    ["echo 'never closed", 0, 0, "what cannot be parsed is taken to succeed"],
    ["exit x", 0, 2, "as a shell answers"],
    ["", 0, 0, "there is nothing to fail"],
  ])("%j: %d ms, code %d, because %s", (script, afterMs, exitCode) => {
    expect(endingOf(sh(script))).toEqual({ afterMs, exitCode });
  });
});
