/** Which programs may be run as credential plugins, and where they are. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename, delimiter, isAbsolute, join, normalize, resolve } from "node:path";
import { ExecError } from "./error.ts";

/** `Allowlist`: only these commands, each a bare name or a path. A bare name stands for what PATH leads to. */
export type PluginPolicy =
  | { readonly type: "AllowAll" }
  | { readonly type: "DenyAll" }
  | { readonly type: "Allowlist"; readonly commands: readonly string[] };

/** Refuses a policy that says something else than its author can have meant. */
export function checkPolicy(policy: PluginPolicy): void {
  if (policy.type !== "Allowlist") return;
  if (policy.commands.length === 0) {
    throw misconfigured(
      'credential plugin policy set to "Allowlist", but allowlist is empty; use "DenyAll" policy instead',
    );
  }
  for (const command of policy.commands) {
    if (command === "") throw misconfigured("misconfigured credential plugin allowlist: empty allowlist entry");
    const clean = normalize(command);
    if (clean !== command) {
      throw misconfigured(`non-normalized file path: ${JSON.stringify(command)} vs ${JSON.stringify(clean)}`);
    }
  }
}

function misconfigured(message: string): ExecError {
  return new ExecError("misconfigured", `invalid plugin policy: ${message}`);
}

/** The absolute path of what will be run; undefined if there is no such program. Throws where the policy forbids it. */
export async function allowedProgram(command: string, policy: PluginPolicy, path: string): Promise<string | undefined> {
  if (policy.type === "DenyAll") {
    throw new ExecError("denied", `plugin ${JSON.stringify(command)} not allowed: policy set to "DenyAll"`);
  }
  const program = await findProgram(command, path);
  if (policy.type === "AllowAll") return program;
  const listed = policy.commands.includes(normalize(command)) || (await isListed(program, policy.commands, path));
  if (listed) return program;
  const shown = JSON.stringify(program ?? command);
  throw new ExecError("denied", `plugin path ${shown} is not permitted by the credential plugin allowlist`);
}

async function isListed(program: string | undefined, commands: readonly string[], path: string): Promise<boolean> {
  if (program === undefined) return false;
  const named = commands.filter((command) => basename(command) === basename(program));
  const found = await Promise.all(named.map((command) => findProgram(command, path)));
  return found.includes(program);
}

/**
 * Where a command is: a path as it stands, a bare name by PATH. Folders of PATH that are not absolute are passed
 * over, because what they hold depends on where we were started.
 */
export async function findProgram(command: string, path: string): Promise<string | undefined> {
  if (command.includes("/")) return (await isProgram(command)) ? resolve(command) : undefined;
  for (const folder of path.split(delimiter)) {
    const candidate = join(folder, command);
    if (isAbsolute(folder) && (await isProgram(candidate))) return candidate;
  }
  return undefined;
}

async function isProgram(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    return false;
  }
}
