/** Registration on the spoke: joining a hub, proving to be alive, telling how the cluster is, renewing the identity. */
export type { SpokeEndpoint } from "./cluster-entry.controller.ts";
export { HUB_SECRET, hubAccess } from "./hub-identity.ts";
export { AGENT_NAMESPACE, type RegistrationAgentOptions, runRegistrationAgent } from "./registration-agent.ts";
export type { ReportedClaims } from "./status.controller.ts";
