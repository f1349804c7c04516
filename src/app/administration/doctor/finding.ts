/** What a look at a cluster found, in words that a person can act on. */

export interface Finding {
  /** `warning`: worth knowing, and nothing that does not work. */
  readonly level: "ok" | "warning" | "broken";
  /** What it is about: `ManagedCluster cluster1`, `the hub https://…`. */
  readonly about: string;
  /** What is wrong, or with `ok` what is right. */
  readonly message: string;
  /** The command that mends it, or shows more. */
  readonly mend?: string;
}

export function ok(about: string, message: string): Finding {
  return { level: "ok", about, message };
}

export function warning(about: string, message: string, mend?: string): Finding {
  return { level: "warning", about, message, ...(mend !== undefined && { mend }) };
}

export function broken(about: string, message: string, mend?: string): Finding {
  return { level: "broken", about, message, ...(mend !== undefined && { mend }) };
}
