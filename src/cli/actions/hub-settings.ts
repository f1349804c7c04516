/** What the flags of a hub mean. */
import { checkCleanedKinds, type HubSettings, parseFeatureGates, type ReleaseSettings, UsageError } from "#app";
import type { HubFlags, ReleaseFlags } from "../hub-options.ts";

/** `env` is that of a Pod: who is told by its name there takes the lead again at once after a restart. */
export function hubSettings(flags: HubFlags, env: Readonly<Record<string, string>> = {}): HubSettings {
  const gates = flags.featureGates === undefined ? undefined : parseFeatureGates(flags.featureGates);
  const users = flags.clusterAutoApprovalUsers;
  if (users && !gates?.ManagedClusterAutoApproval) {
    throw new UsageError("--cluster-auto-approval-users needs --feature-gates ManagedClusterAutoApproval=true");
  }
  const { controllers, metricsAddress, clusterprofileProviderFile } = flags;
  const { remoteDeploymentsPollInterval, knativeRemovalPatience, detachPatience, gcResourceList } = flags;
  return {
    ...(controllers && { controllers }),
    ...(gates && { gates }),
    ...(users && { autoApproveUsers: users }),
    ...(detachPatience !== undefined && { detachPatience }),
    ...(gcResourceList && { gcResources: checkCleanedKinds(gcResourceList) }),
    ...(flags.leaderElect && { lease: leaseOf(flags, env) }),
    ...(metricsAddress && { endpoints: metricsAddress }),
    ...(clusterprofileProviderFile !== undefined && { providerFile: clusterprofileProviderFile }),
    releases: releaseSettings(flags),
    ...(remoteDeploymentsPollInterval !== undefined && { pollInterval: remoteDeploymentsPollInterval }),
    ...(knativeRemovalPatience !== undefined && { removalPatience: knativeRemovalPatience }),
  };
}

export function releaseSettings(flags: ReleaseFlags): ReleaseSettings {
  const { knativeManifests, knativeCache, knativeMirror, manifestAllowHosts, knativeDemonstration } = flags;
  return {
    cache: knativeCache,
    ...(knativeManifests !== undefined && { manifests: knativeManifests }),
    ...(knativeMirror !== undefined && { mirror: knativeMirror }),
    ...(manifestAllowHosts && { allowHosts: manifestAllowHosts }),
    ...(knativeDemonstration && { demonstration: true }),
  };
}

function leaseOf(
  { leaderElectNamespace: namespace, leaderElectName: name }: HubFlags,
  env: Readonly<Record<string, string>>,
) {
  return { namespace, name, ...(env.POD_NAME !== undefined && { identity: env.POD_NAME }) };
}
