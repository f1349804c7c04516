/** What the flags of `init` and `join` mean for the objects that they make. Pure: wrong wishes throw UsageError. */
import type { FeatureGate, ResourceRequirement } from "#api/operator";
import { UsageError } from "../user-error.ts";

/** `cpu=500m,memory=512Mi` */
export function parseQuantities(flag: string, text: string): Record<string, string> {
  const pairs = text.split(",").map((word): [string, string] => {
    const [name = "", quantity = "", ...more] = word.trim().split("=");
    if (name === "" || quantity === "" || more.length > 0) {
      throw new UsageError(`${flag} has ${JSON.stringify(word)}; say it like cpu=500m,memory=512Mi`);
    }
    if (!QUANTITY.test(quantity)) {
      throw new UsageError(`${flag} has ${name}=${quantity}, which is no quantity; say it like 500m, 2, 512Mi or 1Gi`);
    }
    return [name, quantity];
  });
  return Object.fromEntries(pairs);
}

const QUANTITY = /^\+?(\d+(\.\d*)?|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][-+]?\d+)?$/;

type QosClass = "Default" | "BestEffort" | "ResourceRequirement";

interface ResourceFlags {
  readonly resourceQosClass?: QosClass;
  readonly resourceLimits?: string;
  readonly resourceRequests?: string;
}

/** Undefined where nothing was said: what is there stays. */
export function resourceRequirement(flags: ResourceFlags): ResourceRequirement | undefined {
  const { resourceQosClass: type, resourceLimits, resourceRequests } = flags;
  const hasAmounts = resourceLimits !== undefined || resourceRequests !== undefined;
  if (hasAmounts && type !== "ResourceRequirement") {
    throw new UsageError("--resource-limits and --resource-requests need --resource-qos-class ResourceRequirement");
  }
  if (type === undefined) return undefined;
  if (type !== "ResourceRequirement") return { type };
  if (!hasAmounts) {
    throw new UsageError(
      "--resource-qos-class ResourceRequirement needs --resource-requests or --resource-limits, or both",
    );
  }
  const limits = resourceLimits === undefined ? undefined : parseQuantities("--resource-limits", resourceLimits);
  const requests =
    resourceRequests === undefined ? undefined : parseQuantities("--resource-requests", resourceRequests);
  return { type, resourceRequirements: { ...(limits && { limits }), ...(requests && { requests }) } };
}

/** `ClusterProfile=true,ResourceCleanup=false` as the objects have it. */
export function parseGates(text: string, known: Readonly<Record<string, boolean>>): FeatureGate[] {
  const gates = new Map<string, FeatureGate>();
  for (const word of text.split(",")) {
    const [feature = "", value = "", ...more] = word.trim().split("=");
    if (!Object.hasOwn(known, feature)) {
      const names = Object.keys(known).sort().join(", ");
      throw new UsageError(`unknown feature gate ${JSON.stringify(feature)}; there are ${names}`);
    }
    if (more.length > 0 || !["true", "false"].includes(value)) {
      throw new UsageError(`feature gate ${feature} is true or false: ${feature}=true`);
    }
    gates.set(feature, { feature, mode: value === "true" ? "Enable" : "Disable" });
  }
  return [...gates.values()];
}

/** Where an agent's annotations begin; others are not told to the hub. */
const AGENT_PREFIX = "agent.open-cluster-management.io/";

/** `k=v`, with the prefix that annotations of agents have. */
export function parseAnnotations(words: readonly string[]): Record<string, string> {
  const pairs = words.map((word): [string, string] => {
    const at = word.indexOf("=");
    if (at <= 0) throw new UsageError(`--klusterlet-annotation has ${JSON.stringify(word)}; say it like key=value`);
    const key = word.slice(0, at);
    return [key.startsWith(AGENT_PREFIX) ? key : `${AGENT_PREFIX}${key}`, word.slice(at + 1)];
  });
  return Object.fromEntries(pairs);
}

interface ImageFlags {
  readonly image?: string;
  readonly imageRegistry?: string;
  readonly bundleVersion?: string;
}

/** Capstan's image, as the flags of `init` and `join` name it. */
export function imageOf({ image, imageRegistry, bundleVersion = "default" }: ImageFlags, version: string): string {
  const own = `capstan:${version}`;
  if (!["default", "latest", version].includes(bundleVersion)) {
    throw new UsageError(
      `--bundle-version ${bundleVersion} is not here: this is Capstan ${version}, which installs itself; name another image with --image`,
    );
  }
  if (image !== undefined && imageRegistry !== undefined) {
    throw new UsageError("--image names the registry already; leave --image-registry out");
  }
  if (image !== undefined) return image;
  return imageRegistry === undefined ? own : `${imageRegistry.replace(/\/+$/, "")}/${own}`;
}

/** The words by which clusters are joined, for people to copy; the token is in them. */
export function joinCommand(token: string, server: string, wait: boolean): string {
  return `capstan join --hub-token ${token} --hub-apiserver ${server} ${wait ? "--wait " : ""}--cluster-name <cluster_name>`;
}
