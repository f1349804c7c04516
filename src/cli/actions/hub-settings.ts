/** What the flags of a hub mean. */
import { type HubSettings, parseFeatureGates, type ReleaseSettings, UsageError } from "#app";
import type { HubFlags, ReleaseFlags } from "../hub-options.ts";

const LEASE_NAME = "capstan-hub";

export function hubSettings(flags: HubFlags): HubSettings {
  const gates = flags.featureGates === undefined ? undefined : parseFeatureGates(flags.featureGates);
  const users = flags.clusterAutoApprovalUsers;
  if (users && !gates?.ManagedClusterAutoApproval) {
    throw new UsageError("--cluster-auto-approval-users needs --feature-gates ManagedClusterAutoApproval=true");
  }
  const { controllers, metricsAddress, clusterprofileProviderFile } = flags;
  const { remoteDeploymentsPollInterval, knativeRemovalPatience } = flags;
  return {
    ...(controllers && { controllers }),
    ...(gates && { gates }),
    ...(users && { autoApproveUsers: users }),
    ...(flags.leaderElect && { lease: { namespace: flags.leaderElectNamespace, name: LEASE_NAME } }),
    ...(metricsAddress && { endpoints: metricsAddress }),
    ...(clusterprofileProviderFile !== undefined && { providerFile: clusterprofileProviderFile }),
    releases: releaseSettings(flags),
    ...(remoteDeploymentsPollInterval !== undefined && { pollInterval: remoteDeploymentsPollInterval }),
    ...(knativeRemovalPatience !== undefined && { removalPatience: knativeRemovalPatience }),
  };
}

export function releaseSettings(flags: ReleaseFlags): ReleaseSettings {
  const { knativeManifests, knativeCache, knativeMirror, manifestAllowHosts } = flags;
  return {
    cache: knativeCache,
    ...(knativeManifests !== undefined && { manifests: knativeManifests }),
    ...(knativeMirror !== undefined && { mirror: knativeMirror }),
    ...(manifestAllowHosts && { allowHosts: manifestAllowHosts }),
  };
}
