/**
 * What the two versions of an add-on kind say in different words, pair by pair: the fields of v1alpha1, those of v1beta1
 * that say the same, and how one becomes the other. Fields that no pair names are the same in both.
 */
import {
  type ClusterManagementAddOn,
  type ClusterManagementAddOnV1Alpha1,
  KUBE_CLIENT_SIGNER,
  type ManagedClusterAddOn,
  type ManagedClusterAddOnV1Alpha1,
  NO_DEFAULT_CONFIG,
} from "#api/addon";

/** The values of some fields, by their paths; one that is absent has no entry. */
export type Part = Readonly<Record<string, unknown>>;

export interface Pair {
  /** Paths such as `spec.supportedConfigs`. */
  readonly alpha: readonly string[];
  readonly beta: readonly string[];
  toBeta(alpha: Part): Part;
  toAlpha(beta: Part): Part;
}

/** What v1beta1 has no place for. */
function withoutTwin(field: string): Pair {
  return { alpha: [field], beta: [], toBeta: () => ({}), toAlpha: () => ({}) };
}

type AlphaStatus = NonNullable<ManagedClusterAddOnV1Alpha1["status"]>;
type BetaStatus = NonNullable<ManagedClusterAddOn["status"]>;
type AlphaRegistration = NonNullable<AlphaStatus["registrations"]>[number];
type BetaRegistration = NonNullable<BetaStatus["registrations"]>[number];

const REGISTRATIONS = "status.registrations";
const DRIVER = "status.kubeClientDriver";

const registrations: Pair = {
  alpha: [REGISTRATIONS, DRIVER],
  beta: [REGISTRATIONS],
  toBeta(alpha) {
    const all = alpha[REGISTRATIONS] as AlphaRegistration[] | undefined;
    const driver = alpha[DRIVER] as AlphaStatus["kubeClientDriver"];
    return all ? { [REGISTRATIONS]: all.map((each) => betaRegistration(each, driver)) } : {};
  },
  toAlpha(beta) {
    const all = beta[REGISTRATIONS] as BetaRegistration[] | undefined;
    const driver = all?.find(({ type }) => type === "kubeClient")?.kubeClient?.driver;
    return {
      ...(all && { [REGISTRATIONS]: all.map(alphaRegistration) }),
      ...(driver && { [DRIVER]: driver }),
    };
  },
};

function betaRegistration(
  { signerName, subject }: AlphaRegistration,
  driver: AlphaStatus["kubeClientDriver"],
): BetaRegistration {
  const { organizationUnit, ...who } = subject ?? {};
  if (signerName === KUBE_CLIENT_SIGNER) {
    return { type: "kubeClient", kubeClient: { ...(subject && { subject: who }), ...(driver && { driver }) } };
  }
  const units = organizationUnit && { organizationUnits: organizationUnit };
  return { type: "customSigner", customSigner: { signerName, ...(subject && { subject: { ...who, ...units } }) } };
}

function alphaRegistration({ type, kubeClient, customSigner }: BetaRegistration): AlphaRegistration {
  if (type === "kubeClient") {
    return { signerName: KUBE_CLIENT_SIGNER, ...(kubeClient?.subject && { subject: kubeClient.subject }) };
  }
  const { signerName = "", subject } = customSigner ?? {};
  const { organizationUnits, ...who } = subject ?? {};
  const units = organizationUnits && { organizationUnit: organizationUnits };
  return { signerName, ...(subject && { subject: { ...who, ...units } }) };
}

const REFERENCES = "status.configReferences";

/** v1alpha1 says twice which configuration is meant. */
const configReferences: Pair = {
  alpha: [REFERENCES],
  beta: [REFERENCES],
  toBeta(alpha) {
    const all = alpha[REFERENCES] as AlphaStatus["configReferences"];
    return all ? { [REFERENCES]: all.map(({ name: _, namespace: __, ...rest }) => rest) } : {};
  },
  toAlpha(beta) {
    const all = beta[REFERENCES] as BetaStatus["configReferences"];
    if (!all) return {};
    const named = all.map((each) => {
      const { name = "", namespace } = each.desiredConfig ?? {};
      return { ...each, name, ...(namespace !== undefined && { namespace }) };
    });
    return { [REFERENCES]: named };
  },
};

const SUPPORTED = "spec.supportedConfigs";
const DEFAULTS = "spec.defaultConfigs";

const defaultConfigs: Pair = {
  alpha: [SUPPORTED],
  beta: [DEFAULTS],
  toBeta(alpha) {
    const all = alpha[SUPPORTED] as ClusterManagementAddOnV1Alpha1["spec"]["supportedConfigs"];
    if (!all) return {};
    return {
      [DEFAULTS]: all.map(({ defaultConfig, ...rest }) => ({
        ...rest,
        ...(defaultConfig ?? { name: NO_DEFAULT_CONFIG }),
      })),
    };
  },
  toAlpha(beta) {
    const all = beta[DEFAULTS] as ClusterManagementAddOn["spec"]["defaultConfigs"];
    if (!all) return {};
    const supported = all.map(({ name, namespace, ...rest }) => {
      if (name === NO_DEFAULT_CONFIG || name === "") return rest;
      return { ...rest, defaultConfig: { ...(namespace !== undefined && { namespace }), name } };
    });
    return { [SUPPORTED]: supported };
  },
};

function renamed(alpha: string, beta: string): Pair {
  const move = (part: Part, from: string, to: string) => (part[from] === undefined ? {} : { [to]: part[from] });
  return {
    alpha: [alpha],
    beta: [beta],
    toBeta: (part) => move(part, alpha, beta),
    toAlpha: (part) => move(part, beta, alpha),
  };
}

/** By kind. */
export const PAIRS: Readonly<Record<string, readonly Pair[]>> = {
  ManagedClusterAddOn: [registrations, configReferences, withoutTwin("status.addOnConfiguration")],
  ClusterManagementAddOn: [
    defaultConfigs,
    renamed("status.defaultconfigReferences", "status.defaultConfigReferences"),
    withoutTwin("spec.addOnConfiguration"),
  ],
};
