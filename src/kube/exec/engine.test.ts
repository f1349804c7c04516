import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { createRegistry } from "#lib/metrics";
import { eventually } from "../../../test/support/eventually.ts";
import {
  createExecEngine,
  EXEC_V1,
  EXEC_V1BETA1,
  type ExecCluster,
  type ExecConfig,
  type ExecEngine,
  type ExecEngineOptions,
  ExecError,
  registerExecMetrics,
} from "./index.ts";

const SECRET = "hunter2-opensesame";
const cluster: ExecCluster = { server: "https://spoke:6443", config: { clusterName: "spoke-1" } };

let folder: string;
const engines: ExecEngine[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "exec-"));
});
afterEach(async () => {
  for (const engine of engines.splice(0)) engine.close();
  await rm(folder, { recursive: true, force: true });
});

/** A plugin that does what the lines of a shell say; its folder is in $HERE. */
async function script(lines: string, name = "plugin"): Promise<string> {
  const file = join(folder, name);
  // Another process writes it: a program that any of our children may still hold open for writing cannot be run.
  execFileSync("sh", ["-c", 'cat > "$0" && chmod 755 "$0"', file], { input: `#!/bin/sh\nHERE=${folder}\n${lines}\n` });
  return file;
}

const printing = (status: object, apiVersion: string = EXEC_V1) =>
  `cat <<'END'\n${JSON.stringify({ apiVersion, kind: "ExecCredential", status })}\nEND`;

function engine(options: Partial<ExecEngineOptions> = {}): ExecEngine {
  const made = createExecEngine({ env: { PATH: process.env.PATH }, ...options });
  engines.push(made);
  return made;
}

const exec = (command: string, more: Partial<ExecConfig> = {}): ExecConfig => ({
  apiVersion: EXEC_V1,
  command,
  args: [],
  env: [],
  provideClusterInfo: true,
  interactiveMode: "Never",
  ...more,
});

async function failure(promise: Promise<unknown>): Promise<ExecError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ExecError)) throw new Error(`expected an ExecError, not ${error}`);
  return error;
}

const ask = (config: ExecConfig, options?: Partial<ExecEngineOptions>) =>
  engine(options).credentials(config, cluster).current();

/** Whether a process is alive; zombies are not. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return stat !== "" && !/^\d+ \(.*\) Z/.test(stat);
}

function pidIn(file: string): Promise<number> {
  return eventually(async () => {
    const text = await readFile(join(folder, file), "utf8");
    expect(text).not.toBe("");
    return Number(text);
  });
}

const untilGone = (pid: number) => eventually(async () => expect(await isAlive(pid)).toBe(false));

describe("a plugin", () => {
  it("gives a token", async () => {
    const command = await script(printing({ token: "t" }));
    expect(await ask(exec(command))).toEqual({ token: "t" });
  });

  it("of the older version gives one too, in YAML if it likes", async () => {
    const command = await script(
      `printf 'apiVersion: ${EXEC_V1BETA1}\\nkind: ExecCredential\\nstatus:\\n  token: t\\n'`,
    );
    expect(await ask(exec(command, { apiVersion: EXEC_V1BETA1 }))).toEqual({ token: "t" });
  });

  it("gets its arguments as they are, because no shell reads them", async () => {
    const command = await script(`printf '%s\\n' "$@" > $HERE/args\n${printing({ token: "t" })}`);
    await ask(exec(command, { args: ["a b", "$(touch x)", "; exit 1", "*"] }));
    expect(await readFile(join(folder, "args"), "utf8")).toBe("a b\n$(touch x)\n; exit 1\n*\n");
  });

  it("is told of the cluster, and that nobody can be asked", async () => {
    const command = await script(`printf %s "$KUBERNETES_EXEC_INFO" > $HERE/info\n${printing({ token: "t" })}`);
    await ask(exec(command));
    expect(JSON.parse(await readFile(join(folder, "info"), "utf8"))).toEqual({
      apiVersion: EXEC_V1,
      kind: "ExecCredential",
      spec: { cluster, interactive: false },
    });
  });

  it("is not told of the cluster unless the configuration says so", async () => {
    const command = await script(`printf %s "$KUBERNETES_EXEC_INFO" > $HERE/info\n${printing({ token: "t" })}`);
    await ask(exec(command, { provideClusterInfo: false }));
    expect(JSON.parse(await readFile(join(folder, "info"), "utf8")).spec).toEqual({ interactive: false });
  });

  it("sees of our environment only what is harmless, what is passed on purpose, and what its configuration sets", async () => {
    const command = await script(`env > $HERE/env\n${printing({ token: "t" })}`);
    const env = { PATH: process.env.PATH, HOME: "/home/me", DB_PASSWORD: SECRET, MY_A: "1", MY_B: "2", LC_ALL: "C" };
    await ask(
      exec(command, {
        env: [
          { name: "REGION", value: "eu" },
          { name: "HOME", value: "/other" },
        ],
      }),
      {
        env,
        alsoPass: ["MY_*"],
      },
    );
    const seen = (await readFile(join(folder, "env"), "utf8")).split("\n").map((line) => line.split("=")[0]);
    expect(seen).toEqual(
      expect.arrayContaining(["PATH", "HOME", "MY_A", "MY_B", "LC_ALL", "REGION", "KUBERNETES_EXEC_INFO"]),
    );
    expect(seen).not.toContain("DB_PASSWORD");
    expect(await readFile(join(folder, "env"), "utf8")).toContain("HOME=/other");
  });

  it("is found in PATH, where folders that are not absolute do not count", async () => {
    await script(printing({ token: "t" }), "my-plugin");
    expect(await ask(exec("my-plugin"), { env: { PATH: `${folder}:${process.env.PATH}` } })).toEqual({ token: "t" });
    expect((await failure(ask(exec("my-plugin"), { env: { PATH: ".:relative:" } }))).reason).toBe("not-found");
  });

  it("may leave a child behind that holds its output open", async () => {
    const command = await script(`sleep 60 &\necho $! > $HERE/pid\n${printing({ token: "t" })}`);
    expect(await ask(exec(command))).toEqual({ token: "t" });
    process.kill(await pidIn("pid"), "SIGKILL");
  });
});

describe("a plugin that fails", () => {
  it.each([
    ["with an exit code", "exit 3", "failed", "failed with exit code 3"],
    ["by a signal", "kill -TERM $$", "killed", "was ended by SIGTERM"],
    [
      "with text that is no JSON",
      `echo 'oops: ${SECRET}: {'`,
      "malformed",
      "decoding stdout: it is neither JSON nor YAML",
    ],
    ["with nothing", "true", "malformed", "decoding stdout: it does not hold an object"],
    [
      "with another version",
      printing({ token: SECRET }, EXEC_V1BETA1),
      "malformed",
      `exec plugin is configured to use API version ${EXEC_V1}, plugin returned version ${EXEC_V1BETA1}`,
    ],
    [
      "without a status",
      `echo '{"apiVersion":"${EXEC_V1}","kind":"ExecCredential"}'`,
      "malformed",
      "didn't return a status field",
    ],
    ["with an empty status", printing({}), "malformed", "didn't return a token or cert/key pair"],
    [
      "with a key alone",
      printing({ clientKeyData: SECRET }),
      "malformed",
      "returned only certificate or key, not both",
    ],
    [
      "with a key that is none",
      printing({ clientKeyData: SECRET, clientCertificateData: SECRET }),
      "malformed",
      "failed parsing client key/certificate",
    ],
    ["with a token that is none", printing({ token: 5 }), "malformed", "status.token must be a string"],
    [
      "with a time that is none",
      printing({ token: SECRET, expirationTimestamp: "soon" }),
      "malformed",
      "expirationTimestamp must be a time",
    ],
  ])("%s says so", async (_, lines, reason, message) => {
    const command = await script(lines);
    const error = await failure(ask(exec(command)));
    expect(error.reason).toBe(reason);
    expect(error.message).toContain(message);
    expect(JSON.stringify(error, Object.getOwnPropertyNames(error))).not.toContain(SECRET);
  });

  it("with a secret on stderr is reported with the harmless words only", async () => {
    const command = await script(
      `echo '[secretreader] failed to get secret for spoke-1: token ${SECRET} denied' >&2\nexit 1`,
    );
    const error = await failure(ask(exec(command)));
    expect(error.message).toMatch(
      /failed with exit code 1: \[secretreader\] failed to get secret for spoke-1: token … denied$/,
    );
    expect(error.exitCode).toBe(1);
  });

  it("because it is not there brings the hint of its configuration", async () => {
    const error = await failure(ask(exec(join(folder, "none"), { installHint: "brew install none" })));
    expect([error.reason, error.message]).toEqual([
      "not-found",
      `exec: executable ${folder}/none not found; brew install none`,
    ]);
  });

  it("to start is reported without its arguments", async () => {
    const file = await script("", "broken");
    execFileSync("sed", ["-i", "1s|.*|#!/no/such/interpreter|", file]);
    const error = await failure(ask(exec(file, { args: [SECRET] })));
    expect(error.reason).toBe("not-started");
    expect(error.message).not.toContain(SECRET);
  });

  it("to end in time is ended, with all that it has started, and nobody else waits for it", async () => {
    const clock = new ManualClock();
    const running = engine({ clock, concurrency: 1 });
    const sleeping = await script("sleep 3600 &\necho $! > $HERE/child\necho $$ > $HERE/pid\nwait", "sleeping");
    const quick = await script(printing({ token: "t" }), "quick");
    const stuck = failure(running.credentials(exec(sleeping), cluster).current());
    const [pid, child] = [await pidIn("pid"), await pidIn("child")];

    const other = running.credentials(exec(quick), cluster).current();
    clock.advance(1_000); // it has had its turn
    expect(await other).toEqual({ token: "t" });

    clock.advance(29_000);
    const error = await stuck;
    expect([error.reason, error.message]).toEqual([
      "timeout",
      `exec: executable ${sleeping} gave no credential within 30 s`,
    ]);
    await untilGone(pid);
    await untilGone(child);
  });

  it("to end in time is ended by the machine's clock too", async () => {
    const command = await script("exec sleep 3600");
    const error = await failure(ask(exec(command), { timeoutMs: 50 }));
    expect(error.message).toMatch(/gave no credential within 0.05 s$/);
  });

  it.each(["1", "2"])("to stop writing on file %s is ended after a megabyte", async (file) => {
    const command = await script(
      `echo $$ > $HERE/pid\nhead -c 10485760 /dev/zero | tr '\\0' 'x' >&${file}\nsleep 3600`,
    );
    const error = await failure(ask(exec(command)));
    expect(error.reason).toBe("too-much-output");
    await untilGone(await pidIn("pid"));
  });

  it("because the engine is closed goes at once", async () => {
    const running = engine();
    const command = await script("echo $$ > $HERE/pid\nsleep 3600");
    const stuck = failure(running.credentials(exec(command), cluster).current());
    const pid = await pidIn("pid");
    running.close();
    expect((await stuck).reason).toBe("called-off");
    await untilGone(pid);
    expect((await failure(running.credentials(exec(command, { args: ["x"] }), cluster).current())).reason).toBe(
      "called-off",
    );
  });

  it("because it cannot be told so much of a cluster", async () => {
    const command = await script(printing({ token: "t" }));
    const big = { server: "https://h", "certificate-authority-data": "x".repeat(140_000) };
    const error = await failure(engine().credentials(exec(command), big).current());
    expect([error.reason, error.message]).toEqual(["misconfigured", expect.stringContaining("too long")]);
  });

  it("because it needs a person, and there is none", async () => {
    const command = await script(printing({ token: "t" }));
    const error = await failure(ask(exec(command, { interactiveMode: "Always" })));
    expect(error.reason).toBe("interactive");
    expect(error.message).toBe("exec plugin cannot support interactive mode: standard input is not a terminal");
    expect(await ask(exec(command, { interactiveMode: "IfAvailable" }))).toEqual({ token: "t" });
  });
});

describe("a plugin that may ask a person", () => {
  it.each(["IfAvailable", "Always"] as const)("is told so at a terminal: %s", async (interactiveMode) => {
    const command = await script(`printf %s "$KUBERNETES_EXEC_INFO" > $HERE/info\n${printing({ token: "t" })}`);
    expect(await ask(exec(command, { interactiveMode }), { terminal: true })).toEqual({ token: "t" });
    expect(JSON.parse(await readFile(join(folder, "info"), "utf8")).spec.interactive).toBe(true);
  });

  it("has minutes for it, not seconds", async () => {
    const clock = new ManualClock();
    const command = await script("echo $$ > $HERE/pid\nexec sleep 3600");
    let ended = false;
    const stuck = failure(ask(exec(command, { interactiveMode: "Always" }), { terminal: true, clock })).finally(() => {
      ended = true;
    });
    const pid = await pidIn("pid");
    clock.advance(4 * 60_000);
    expect([ended, await isAlive(pid)]).toEqual([false, true]);
    clock.advance(60_000);
    expect((await stuck).reason).toBe("timeout");
    await untilGone(pid);
  });
});

describe("the policy", () => {
  const denied = async (command: string, options: Partial<ExecEngineOptions>) =>
    (await failure(ask(exec(command), options))).message;

  it("can deny everything", async () => {
    const command = await script(printing({ token: "t" }));
    expect(await denied(command, { policy: { type: "DenyAll" } })).toBe(
      `plugin "${command}" not allowed: policy set to "DenyAll"`,
    );
  });

  it("allows what is listed, by its path or by the name that leads there", async () => {
    const command = await script(printing({ token: "t" }), "listed");
    const env = { PATH: `${folder}:${process.env.PATH}` };
    for (const [asked, listed] of [
      [command, command],
      ["listed", "listed"],
      ["listed", command],
      [command, "listed"],
    ]) {
      const policy = { type: "Allowlist", commands: [listed ?? ""] } as const;
      expect(await ask(exec(asked ?? ""), { env, policy })).toEqual({ token: "t" });
    }
  });

  it("denies what only has the name of something that is listed", async () => {
    const command = await script(printing({ token: "t" }), "aws");
    const policy = { type: "Allowlist", commands: ["aws", "/usr/bin/aws"] } as const;
    expect(await denied(command, { policy })).toBe(
      `plugin path "${command}" is not permitted by the credential plugin allowlist`,
    );
  });

  it.each([
    [[], 'credential plugin policy set to "Allowlist", but allowlist is empty; use "DenyAll" policy instead'],
    [["/a/../b"], 'non-normalized file path: "/a/../b" vs "/b"'],
    [[""], "empty allowlist entry"],
  ])("of %j is refused", (commands, message) => {
    expect(() => createExecEngine({ env: {}, policy: { type: "Allowlist", commands } })).toThrow(message);
  });
});

describe("an identity", () => {
  const counting = `echo x >> $HERE/runs\n${printing({ token: "t" })}`;
  const runs = async () => (await readFile(join(folder, "runs"), "utf8")).split("\n").length - 1;

  it("is asked for once, however many clients wait for it", async () => {
    const running = engine();
    const command = await script(counting);
    const clients = Array.from({ length: 20 }, () => running.credentials(exec(command), { ...cluster }));
    await Promise.all(clients.map((credentials) => credentials.current()));
    expect(await runs()).toBe(1);
  });

  it("is another one for another cluster", async () => {
    const running = engine();
    const command = await script(counting);
    const clusters = [cluster, { ...cluster, config: { clusterName: "spoke-2" } }];
    await Promise.all(clusters.map((one) => running.credentials(exec(command), one).current()));
    expect(await runs()).toBe(2);
  });
});

it("counts under the names of other Kubernetes clients", async () => {
  const clock = new ManualClock();
  const registry = createRegistry();
  const running = engine({ clock, metrics: registerExecMetrics(registry, clock) });
  const good = await script(printing({ token: "t" }), "good");
  const bad = await script("exit 7", "bad");
  await running.credentials(exec(good), cluster).current();
  await failure(running.credentials(exec(bad), cluster).current());
  await failure(running.credentials(exec("/none"), cluster).current());
  const text = registry.text();
  expect(text).toContain('rest_client_exec_plugin_call_total{code="0",call_status="no_error"} 1');
  expect(text).toContain('rest_client_exec_plugin_call_total{code="7",call_status="plugin_execution_error"} 1');
  expect(text).toContain('rest_client_exec_plugin_call_total{code="1",call_status="plugin_not_found_error"} 1');
  expect(text).toContain('rest_client_exec_plugin_policy_call_total{allowed="true"} 3');
  expect(text).toContain("rest_client_exec_plugin_ttl_seconds +Inf");
  expect(text).toContain('exec_plugin_duration_seconds_count{plugin="good"} 1');
});
