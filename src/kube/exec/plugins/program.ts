/** A credential plugin as a program: from the environment to the text on stdout. */
import { Secret } from "#api/core";
import { createClient } from "../../client.ts";
import type { Credential } from "../../credentials.ts";
import { isForbidden, isNotFound } from "../../errors.ts";
import type { Client } from "../../types.ts";
import type { ExecVersion } from "../config.ts";
import { EXEC_INFO } from "../environment.ts";
import { pluginInput } from "./info.ts";
import { PluginError, type PluginName } from "./names.ts";
import { type Reading, readingOf } from "./reading.ts";
import { hubConnection, inferredNamespace, type Surroundings } from "./surroundings.ts";

export interface PluginProgram extends Surroundings {
  readonly plugin: PluginName;
  /** Only for `cp-creds`. */
  readonly managedServiceAccount?: string;
}

/** What the plugin prints; throws a PluginError whose message is for stderr. */
export async function runPlugin({ plugin, managedServiceAccount, ...surroundings }: PluginProgram): Promise<string> {
  const { apiVersion, config } = pluginInput(surroundings.env[EXEC_INFO]);
  const reading = readingOf(plugin, config, {
    namespace: await inferredNamespace(plugin, surroundings),
    ...(managedServiceAccount !== undefined && { managedServiceAccount }),
  });
  const client = createClient({ connection: await hubConnection(surroundings) });
  try {
    return execCredentialText(await readCredential(client, reading), apiVersion);
  } finally {
    client.close();
  }
}

/** Reads the Secret once. Throws a PluginError. */
export async function readCredential(client: Pick<Client, "get">, reading: Reading): Promise<Credential> {
  const { namespace, name, called } = reading;
  const secret = await client.get(Secret, `${namespace}/${name}`).catch((error: unknown) => {
    throw new PluginError(`failed to get ${called} ${namespace}/${name}: ${reasonOf(error, name)}`, { cause: error });
  });
  return reading.credential(secret);
}

/** An API server's own words about a Secret are not passed on by the client, so these say what it said. */
function reasonOf(error: unknown, name: string): string {
  if (isNotFound(error)) return `secrets ${JSON.stringify(name)} not found`;
  if (isForbidden(error)) return `secrets ${JSON.stringify(name)} is forbidden`;
  return (error as Error).message;
}

function execCredentialText({ token, cert, key }: Credential, apiVersion: ExecVersion): string {
  return JSON.stringify({
    kind: "ExecCredential",
    apiVersion,
    spec: { interactive: false },
    status: {
      ...(token !== undefined && { token }),
      ...(cert !== undefined && { clientCertificateData: cert }),
      ...(key !== undefined && { clientKeyData: key }),
    },
  });
}
