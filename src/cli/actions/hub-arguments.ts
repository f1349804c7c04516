/** The flags of a hub in the words by which its programs are told them; files by names that hold anywhere on this machine. */
import { resolve } from "node:path";
import type { HubFlags } from "../hub-options.ts";
import type { Address } from "../options.ts";

export function hubArguments(flags: HubFlags): string[] {
  const said: Readonly<Record<string, string | undefined>> = {
    "--controllers": flags.controllers?.join(","),
    "--detach-patience": seconds(flags.detachPatience),
    "--gc-resource-list": flags.gcResourceList?.join(","),
    "--metrics-address": flags.metricsAddress && addressText(flags.metricsAddress),
    "--clusterprofile-provider-file": flags.clusterprofileProviderFile && resolve(flags.clusterprofileProviderFile),
    "--remote-deployments-poll-interval": seconds(flags.remoteDeploymentsPollInterval),
    "--knative-removal-patience": seconds(flags.knativeRemovalPatience),
    "--knative-manifests": flags.knativeManifests && resolve(flags.knativeManifests),
    "--knative-cache": resolve(flags.knativeCache),
    "--knative-mirror": flags.knativeMirror,
    "--manifest-allow-hosts": flags.manifestAllowHosts?.join(","),
    "--knative-demonstration": flags.knativeDemonstration ? "true" : undefined,
  };
  return Object.entries(said).flatMap(([flag, value]) => (value === undefined ? [] : [`${flag}=${value}`]));
}

/** A hub of a fleet shows itself on this machine unless told. */
function addressText({ host = "127.0.0.1", port }: Address): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function seconds(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : `${ms / 1000}s`;
}
