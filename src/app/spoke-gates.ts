/** The features of a spoke's agent that can be turned on and off, under the names that Open Cluster Management has for them. */
import { UsageError } from "./user-error.ts";

/** The gates that there are, and how they stand unless told. */
const GATES = {
  /** ClusterClaims are told to the hub. */
  ClusterClaim: true,
  /** ClusterProperties are. */
  ClusterProperty: true,
  /** Taken, so that Klusterlets may say it; there are no add-ons to manage yet. */
  AddonManagement: true,
};
export type SpokeGates = Readonly<Record<keyof typeof GATES, boolean>>;

/** `ClusterClaim=false,ClusterProperty=true`; all as they stand for an empty text. */
export function parseSpokeGates(text: string): SpokeGates {
  const words = text.split(",").filter((word) => word.trim() !== "");
  const wished = words.map((word): [string, boolean] => {
    const [name = "", value = "", ...more] = word.trim().split("=");
    if (!Object.hasOwn(GATES, name)) {
      throw new UsageError(`unknown feature gate ${JSON.stringify(name)}; there are ${Object.keys(GATES).join(", ")}`);
    }
    if (more.length > 0 || !["true", "false"].includes(value)) {
      throw new UsageError(`feature gate ${name} is true or false: ${name}=true`);
    }
    return [name, value === "true"];
  });
  return { ...GATES, ...Object.fromEntries(wished) };
}
