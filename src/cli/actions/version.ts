/** Shows versions for `capstan version`. */
import { UserError } from "#app";
import type { VersionFlags } from "../commands/version.ts";
import { connect } from "../target.ts";
import type { TargetFlags } from "../target-options.ts";
import { print, say } from "../terminal.ts";
import { version } from "../version.ts";

/** A cluster that does not answer is no reason to keep somebody waiting who asks for a version. */
const PATIENCE_MS = 3_000;

export async function showVersion({ client: clientOnly = false, output, ...target }: VersionFlags): Promise<void> {
  const image = `capstan:${version()}`;
  const server = clientOnly ? {} : await serverVersion(target);
  if (output === "json") {
    print(
      JSON.stringify(
        { clientVersion: version(), image, ...("version" in server && { serverVersion: server.version }) },
        undefined,
        2,
      ),
    );
  } else {
    print(`capstan ${version()}`);
    if ("version" in server) print(`server ${server.version} (${server.url})`);
  }
  if ("problem" in server) say(server.problem);
}

type Server = { readonly version: string; readonly url: string } | { readonly problem: string } | Record<string, never>;

/** Nobody is asked where nobody is meant; whoever is named and does not answer is told of. */
async function serverVersion(target: TargetFlags): Promise<Server> {
  const isNamed = target.kubeconfig !== undefined || target.context !== undefined || target.dir !== undefined;
  try {
    const client = await connect(target);
    try {
      const { gitVersion } = JSON.parse(await client.raw("/version", { timeout: PATIENCE_MS }));
      return { version: String(gitVersion), url: client.server };
    } catch (error) {
      return { problem: `The server ${client.server} does not tell its version: ${(error as Error).message}` };
    } finally {
      client.close();
    }
  } catch (error) {
    if (isNamed) throw error;
    return error instanceof UserError ? {} : { problem: (error as Error).message };
  }
}
