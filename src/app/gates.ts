/** Feature gates as people say them on a command line. */
import { UsageError } from "./user-error.ts";

/** `ClusterClaim=false,ClusterProperty=true` beside how the other gates stand. */
export function gatesIn<T extends Readonly<Record<string, boolean>>>(text: string, table: T): T {
  const wished = text.split(",").map((word): [string, boolean] => {
    const [name = "", value = "", ...more] = word.trim().split("=");
    if (!Object.hasOwn(table, name)) {
      throw new UsageError(`unknown feature gate ${JSON.stringify(name)}; there are ${Object.keys(table).join(", ")}`);
    }
    if (more.length > 0 || !["true", "false"].includes(value)) {
      throw new UsageError(`feature gate ${name} is true or false: ${name}=true`);
    }
    return [name, value === "true"];
  });
  return { ...table, ...Object.fromEntries(wished) };
}
