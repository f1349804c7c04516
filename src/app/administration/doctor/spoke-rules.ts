/** What is wrong with a spoke and its way to the hub, given what was seen of them. Pure. */
import { ClusterCondition, type ManagedCluster } from "#api/cluster";
import { type Klusterlet, KlusterletCondition, KlusterletReason, rejoinCommand } from "#api/operator";
import { AppliedAnnotation, type AppliedManifestWork } from "#api/work";
import { findCondition } from "#lib/conditions";
import { humanDuration } from "#lib/duration";
import { broken, type Finding, ok, warning } from "./finding.ts";
import { type Workload, workloadFinding } from "./workloads.ts";

export interface SpokeFacts {
  readonly operator: Workload | undefined;
  readonly klusterlets: readonly KlusterletFacts[];
  /** What works have brought; none where one may not look. */
  readonly applied?: readonly AppliedManifestWork[];
  readonly now: Date;
}

/** One Klusterlet, or the agent of a spoke that somebody runs in another way. */
export interface KlusterletFacts {
  readonly klusterlet: Klusterlet | undefined;
  readonly clusterName: string;
  readonly agentNamespace: string;
  readonly agents: readonly Workload[];
  readonly bootstrap: Bootstrap;
  readonly identity: Identity;
  /** What the hub said, asked with what the agent has. */
  readonly hub: HubAnswer;
}

export type Bootstrap =
  | { readonly state: "missing" | "unreadable" }
  | {
      readonly state: "there";
      readonly server: string;
      readonly tokenExpires: Date | undefined;
      /** The hub's address means its own machine, and the spoke is on another. */
      readonly isElsewhere: boolean;
    };

export type Identity =
  | { readonly state: "missing" | "unreadable" }
  | { readonly state: "there"; readonly server: string; readonly notBefore: Date; readonly notAfter: Date };

export type HubAnswer =
  | { readonly state: "not asked" }
  | { readonly state: "unreachable"; readonly cause: string }
  | { readonly state: "untrusted"; readonly cause: string }
  | { readonly state: "unauthorized" | "forbidden" | "no hub" | "unknown cluster" }
  | { readonly state: "answered"; readonly cluster: ManagedCluster };

export function spokeFindings(facts: SpokeFacts): Finding[] {
  return [
    ...(facts.operator ? [workloadFinding(facts.operator, "capstan join, with the flags of the first time")] : []),
    ...facts.klusterlets.flatMap((each) => klusterletFindings(each, facts.now)),
    ...heldRemovals(facts),
  ];
}

/** One by one where the works are on this cluster; of agents that manage another, their Klusterlet tells. */
function heldRemovals({ applied = [], klusterlets }: SpokeFacts): Finding[] {
  const found = applied.flatMap(heldFindings);
  return found.length > 0 ? found : klusterlets.flatMap(({ klusterlet }) => heldElsewhere(klusterlet));
}

function heldElsewhere(klusterlet: Klusterlet | undefined): Finding[] {
  const held = findCondition(klusterlet?.status?.conditions, KlusterletCondition.WorkRemovalHeld);
  if (held?.status !== "True") return [];
  const [why = "", next = ""] = held.message.split(". If it is to go: ");
  return [warning(`Klusterlet ${klusterlet?.metadata.name}`, why, `${next}, with --context of its managed cluster`)];
}

/** What an agent does not remove on its own, because it is not sure of its hub. */
function heldFindings({ metadata, spec }: AppliedManifestWork): Finding[] {
  const held = metadata.annotations?.[AppliedAnnotation.held];
  if (held === undefined) return [];
  const [why = "", next = ""] = held.split(". If it is to go nevertheless: ");
  return [warning(`what ManifestWork ${spec?.manifestWorkName} brought`, why, next)];
}

function klusterletFindings(facts: KlusterletFacts, now: Date): Finding[] {
  return [
    ...(facts.klusterlet ? conditionFindings(facts.klusterlet) : []),
    ...facts.agents
      .filter((agent) => !isWaiting(agent, facts))
      .map((agent) => workloadFinding(agent, "capstan get klusterlet-info")),
    ...pathFindings(facts, now),
  ];
}

/** The work agent has nothing to do before the hub has let the cluster in, and is not started earlier. */
function isWaiting({ deployment }: Workload, { identity }: KlusterletFacts): boolean {
  return identity.state !== "there" && deployment?.spec.replicas === 0;
}

const OPERATOR_LOGS = "kubectl logs -n open-cluster-management deployment/klusterlet";

function conditionFindings({ metadata, status }: Klusterlet): Finding[] {
  const about = `Klusterlet ${metadata.name}`;
  const said = (type: string) => findCondition(status?.conditions, type);
  const text = (type: string) => said(type)?.message || said(type)?.reason || "";
  if (metadata.deletionTimestamp !== undefined) {
    return [
      warning(
        about,
        `it is being removed: ${text(KlusterletCondition.Applied) || "its operator cleans up"}`,
        OPERATOR_LOGS,
      ),
    ];
  }
  if (!said(KlusterletCondition.Applied)) return [broken(about, "no operator has looked at it yet", OPERATOR_LOGS)];
  const found: Finding[] = [];
  if (said(KlusterletCondition.ReadyToApply)?.status === "False") {
    found.push(
      broken(
        about,
        `its managed cluster is not ready for it: ${text(KlusterletCondition.ReadyToApply)}`,
        OPERATOR_LOGS,
      ),
    );
  }
  if (said(KlusterletCondition.Applied)?.status === "False") {
    found.push(broken(about, `it could not be made so: ${text(KlusterletCondition.Applied)}`, OPERATOR_LOGS));
  }
  if (said(KlusterletCondition.ValidFeatureGates)?.status === "False") {
    found.push(warning(about, text(KlusterletCondition.ValidFeatureGates), `kubectl edit klusterlet ${metadata.name}`));
  }
  const connection = said(KlusterletCondition.HubConnectionDegraded);
  if (connection?.status === "True" && connection.reason.includes(KlusterletReason.hubUnauthorized)) {
    found.push(
      broken(
        about,
        `the hub does not grant the agent what it needs: ${connection.message}`,
        "capstan accept on the hub",
      ),
    );
  }
  return found.length > 0 ? found : [ok(about, "it is applied")];
}

/** From the identity to the hub and back; the first thing that is wrong explains the rest. */
function pathFindings(facts: KlusterletFacts, now: Date): Finding[] {
  const { bootstrap, identity, clusterName, agentNamespace } = facts;
  const joinAgain = `capstan join, with a new token from \`capstan get token\` on the hub, and --cluster-name ${clusterName}`;
  const found: Finding[] = [];
  if (bootstrap.state === "there" && bootstrap.isElsewhere) {
    found.push(
      broken(
        `the way to the hub`,
        `agents are told to find it at ${bootstrap.server}, which means the machine that they run on`,
        `capstan join with --hub-apiserver of an address that reaches the hub from there, and --cluster-name ${clusterName}`,
      ),
    );
  }
  if (identity.state === "there") {
    found.push(...certificateFindings(identity, facts, now));
  } else if (bootstrap.state === "missing") {
    return [
      broken(
        `Secret ${agentNamespace}/bootstrap-hub-kubeconfig`,
        "it is not there, so the agent cannot ask the hub",
        joinAgain,
      ),
    ];
  } else if (bootstrap.state === "unreadable") {
    return [
      broken(`Secret ${agentNamespace}/bootstrap-hub-kubeconfig`, "it holds no kubeconfig that makes sense", joinAgain),
    ];
  } else if (bootstrap.state === "there" && bootstrap.tokenExpires && bootstrap.tokenExpires <= now) {
    const ago = humanDuration(now.getTime() - bootstrap.tokenExpires.getTime());
    found.push(
      broken("the bootstrap token", `it ended ${ago} ago, before the hub had let ${clusterName} in`, joinAgain),
    );
  }
  return [...found, ...answerFindings(facts, joinAgain)];
}

/** Agents renew when a fifth of the life is left; when a tenth is, something keeps them from it. */
const LATE_SHARE = 0.1;

function certificateFindings(identity: Identity & { state: "there" }, facts: KlusterletFacts, now: Date): Finding[] {
  const { agentNamespace: namespace, clusterName, hub, klusterlet } = facts;
  const about = `Secret ${namespace}/hub-kubeconfig-secret`;
  const left = identity.notAfter.getTime() - now.getTime();
  const life = identity.notAfter.getTime() - identity.notBefore.getTime();
  const logs = klusterlet ? `kubectl logs -n ${namespace} deployment/klusterlet-registration-agent` : OWN_LOG;
  if (left <= 0) {
    return [
      broken(
        about,
        `the agent's certificate ended ${humanDuration(-left)} ago; it asks for a new one as at the first time`,
        // The hub was asked with what the agent asks with now.
        hub.state === "answered" ? `capstan accept --clusters ${clusterName}, on the hub` : restoring(facts),
      ),
    ];
  }
  if (left < life * LATE_SHARE) {
    return [warning(about, `the agent's certificate ends in ${humanDuration(left)} and was not renewed`, logs)];
  }
  if (identity.notBefore > now) {
    return [
      broken(
        about,
        "the agent's certificate is not valid yet: the clocks of hub and spoke differ",
        "set the clocks of both by NTP",
      ),
    ];
  }
  return [ok(about, `the agent's certificate is good for ${humanDuration(left)}`)];
}

/** An agent that no Klusterlet runs reads a file, of which the cluster does not tell. */
function restoring({ klusterlet, clusterName }: KlusterletFacts): string {
  return `${rejoinCommand(clusterName)}${klusterlet ? "" : " --bootstrap-kubeconfig FILE, where the agent runs"}`;
}

const OWN_LOG = "look at what the agent says, where it runs";

function answerFindings(facts: KlusterletFacts, joinAgain: string): Finding[] {
  const { hub, identity, bootstrap, clusterName } = facts;
  const server = identity.state === "there" ? identity.server : bootstrap.state === "there" ? bootstrap.server : "";
  const about = `the hub ${server}`.trimEnd();
  const isKnown = identity.state === "there";
  const restore = isKnown ? restoring(facts) : joinAgain;
  switch (hub.state) {
    case "not asked":
      return [];
    case "unreachable":
      return [
        broken(about, `it cannot be reached from here: ${hub.cause}`, "capstan doctor, with --context of the hub"),
      ];
    case "untrusted":
      return [broken(about, `what answers there is not whom the agent trusts: ${hub.cause}`, restore)];
    case "unauthorized":
      return [
        broken(about, isKnown ? `it does not know what the agent shows to it` : "it does not know the token", restore),
      ];
    case "forbidden":
      return [
        broken(
          about,
          isKnown
            ? `it does not show ${clusterName} its own entry: somebody deleted it there, or has not let it in yet`
            : `it does not let ${clusterName} ask to join`,
          isKnown
            ? `capstan accept --clusters ${clusterName}, on the hub; where it is not listed, ${joinAgain}`
            : joinAgain,
        ),
      ];
    case "no hub":
      return [
        broken(
          about,
          "it is no hub: it does not know ManagedClusters",
          "capstan init --wait, with --context of the hub",
        ),
      ];
    case "unknown cluster":
      return [
        isKnown
          ? broken(about, `it has no ManagedCluster ${clusterName}: somebody deleted it there`, joinAgain)
          : broken(
              about,
              `it has not heard of ${clusterName} yet`,
              "kubectl logs -n open-cluster-management-agent deployment/klusterlet-registration-agent",
            ),
      ];
    case "answered":
      return entryFindings(hub.cluster, about);
  }
}

function entryFindings({ metadata, spec, status }: ManagedCluster, about: string): Finding[] {
  const { name } = metadata;
  const accept = `capstan accept --clusters ${name}, on the hub`;
  if (!spec?.hubAcceptsClient) return [warning(about, `it has not let ${name} in yet`, accept)];
  const said = (type: string) => findCondition(status?.conditions, type);
  if (said(ClusterCondition.Joined)?.status !== "True")
    return [warning(about, `${name} was let in and has not joined yet`, accept)];
  const available = said(ClusterCondition.Available);
  if (available?.status !== "True") {
    return [
      broken(
        about,
        `it calls ${name} ${available?.status === "False" ? "unavailable" : "lost"}: ${available?.message ?? "its agent has not said"}`,
        "capstan get klusterlet-info",
      ),
    ];
  }
  return [ok(about, `it has ${name} joined and available`)];
}
