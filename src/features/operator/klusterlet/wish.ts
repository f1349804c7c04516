/** What a Klusterlet asks for, read once: where its agents live, and as what they run. */
import { AGENT_NAMESPACE, type Klusterlet, KlusterletMode, type KlusterletSpec } from "#api/operator";
import { chosenGates, type GateChoice, SpokeGates, SpokeWorkGates } from "../kit/index.ts";

export interface KlusterletWish {
  readonly name: string;
  /** By which the objects on the managed cluster know their agent. */
  readonly uid: string;
  /** Whether the agents run on another cluster than the one that they manage. */
  readonly isHosted: boolean;
  /** Whether both agents are one program. */
  readonly isSingleton: boolean;
  /** The Klusterlet's on the managed cluster. */
  readonly namespace: string;
  /** Where the agents run, and where their Secrets are. */
  readonly agentNamespace: string;
  /** Empty where the agent is to find one. */
  readonly clusterName: string;
  /** What those may do on the managed cluster who come with the token on the hub; nobody does unless told. */
  readonly grantAccess: string | undefined;
  readonly spec: KlusterletSpec;
  readonly gates: { readonly registration: GateChoice; readonly work: GateChoice };
}

export interface Refusal {
  /** A sentence for the condition. */
  readonly refusal: string;
}

export function isRefused(wish: KlusterletWish | Refusal): wish is Refusal {
  return "refusal" in wish;
}

/** On a Klusterlet, by `join --grant-access`. */
export const GRANT_ACCESS = "access.capstan.dev/cluster-role";

export function wishOf(klusterlet: Klusterlet): KlusterletWish | Refusal {
  const { metadata, spec = {} } = klusterlet;
  const { registrationConfiguration: registration, workConfiguration: work } = spec;
  const mode = spec.deployOption?.mode || KlusterletMode.default;
  const refusal = refusalOf(mode, registration);
  if (refusal !== undefined) return { refusal };
  const isHosted = mode === KlusterletMode.hosted;
  const namespace = spec.namespace || AGENT_NAMESPACE;
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    isHosted,
    isSingleton: mode === KlusterletMode.singleton,
    namespace,
    agentNamespace: isHosted ? metadata.name : namespace,
    clusterName: spec.clusterName ?? "",
    grantAccess: metadata.annotations?.[GRANT_ACCESS] || undefined,
    spec,
    gates: {
      registration: chosenGates(SpokeGates, registration?.featureGates),
      work: chosenGates(SpokeWorkGates, work?.featureGates),
    },
  };
}

/** Where the agents of a Klusterlet are, whether or not what it asks for can be done. */
export function agentNamespaceOf({ metadata, spec }: Klusterlet): string {
  const mode = spec?.deployOption?.mode;
  const isHosted = mode === KlusterletMode.hosted || mode === KlusterletMode.singletonHosted;
  return isHosted ? metadata.name : spec?.namespace || AGENT_NAMESPACE;
}

export function isHosted({ spec }: Klusterlet): boolean {
  return spec?.deployOption?.mode === KlusterletMode.hosted;
}

const MODES: readonly string[] = [KlusterletMode.default, KlusterletMode.singleton, KlusterletMode.hosted];

/** Certificates of less than an hour would be renewed all the time; agents refuse to ask for them. */
const SHORTEST_CERTIFICATE = 3600;

function refusalOf(
  mode: string,
  registration: NonNullable<KlusterletSpec["registrationConfiguration"]> = {},
): string | undefined {
  if (!MODES.includes(mode)) {
    return `spec.deployOption.mode is ${mode}, which there is not here; choose ${MODES.join(", ")}`;
  }
  const { registrationDriver, bootstrapKubeConfigs, clientCertExpirationSeconds: seconds = 0 } = registration;
  const driver = registrationDriver?.authType ?? "csr";
  if (driver !== "csr") {
    return `spec.registrationConfiguration.registrationDriver.authType is ${driver}, which there is not here; choose csr`;
  }
  if (bootstrapKubeConfigs?.type === "LocalSecrets") {
    return "spec.registrationConfiguration.bootstrapKubeConfigs.type is LocalSecrets, and there is only one hub here; choose None";
  }
  if (seconds !== 0 && seconds < SHORTEST_CERTIFICATE) {
    const field = "spec.registrationConfiguration.clientCertExpirationSeconds";
    return `${field} is ${seconds}; it must be 0, or at least ${SHORTEST_CERTIFICATE}`;
  }
  return undefined;
}
