/** Access through the inventory, put together: from a profile to a connection, with the file as it is now. */
import type { ClusterProfile } from "#api/inventory";
import { type Client, type Connection, type Credentials, type ExecEngine, readingOf } from "#kube";
import type { Clock } from "#lib/clock";
import { type Access, type AccessOptions, accessTo, type CredentialSource } from "./access.ts";
import { type OwnProgram, ownPluginOf } from "./own-plugin.ts";
import type { ProviderSource } from "./provider-source.ts";
import { type AccessFailure, isAccessFailure } from "./reasons.ts";
import { SecretCredentials } from "./secret-credentials.ts";

export interface InventoryAccessOptions extends AccessOptions {
  readonly source: ProviderSource;
  readonly exec: ExecEngine;
  readonly hub: {
    /** Reads the Secrets of built-in providers. */
    readonly client: Pick<Client, "get" | "list" | "watch" | "server">;
    /** Where they are when nobody says it. */
    readonly namespace: string;
  };
  /** Programs that are Capstan itself, which are not run. None unless told. */
  readonly own?: OwnProgram;
  readonly clock: Clock;
}

export interface InventoryAccess {
  /** The way into the cluster that a profile stands for, or why there is none. Nothing is run, and no one is asked. */
  accessTo(profile: ClusterProfile): Access | AccessFailure;
  /** The connection of a way in. It shows whether its credentials can be had with the first call. */
  connectionTo(access: Access): Connection;
  /** Runs when the ways in may have become others, because the provider file did. */
  onChange(listener: () => void): () => void;
}

export function createInventoryAccess(options: InventoryAccessOptions): InventoryAccess {
  const { source, own, allowInsecure = false } = options;
  return {
    accessTo(profile) {
      const file = source.current();
      return isAccessFailure(file) ? file : accessTo(profile, file.providers, { allowInsecure });
    },
    connectionTo({ server, ca, serverName, insecure, proxy, credentials }) {
      return {
        server,
        ...(ca !== undefined && { ca }),
        ...(serverName !== undefined && { serverName }),
        ...(insecure && { insecure }),
        ...(proxy !== undefined && { proxy }),
        credentials: credentialsFrom(own ? withoutProcess(credentials, own) : credentials, options),
      };
    },
    onChange: (listener) => source.onChange(listener),
  };
}

function withoutProcess(source: CredentialSource, own: OwnProgram): CredentialSource {
  if ("builtin" in source) return source;
  const plugin = ownPluginOf(source.exec, own);
  return plugin ? { ...plugin, config: source.cluster.config } : source;
}

function credentialsFrom(source: CredentialSource, { exec, hub, clock }: InventoryAccessOptions): Credentials {
  if ("exec" in source) return exec.credentials(source.exec, source.cluster);
  const { builtin, config, managedServiceAccount } = source;
  try {
    const reading = readingOf(builtin, config, {
      namespace: hub.namespace,
      ...(managedServiceAccount !== undefined && { managedServiceAccount }),
    });
    return new SecretCredentials({ reading, client: hub.client, clock });
  } catch (error) {
    return noCredentials(error);
  }
}

/** As with a plugin that is told too little: the first call says so. */
function noCredentials(error: unknown): Credentials {
  const fail = async () => Promise.reject(error);
  return { current: fail, refresh: fail, onChange: () => () => {} };
}
