import type { Taint, Toleration } from "#api/core";

/** Whether a toleration is about this taint and accepts it. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = "", effect } = toleration;
  if (effect && effect !== taint.effect) return false;
  if (key !== "" && key !== taint.key) return false;
  return acceptsValue(toleration, taint.value ?? "");
}

function acceptsValue({ operator = "Equal", value = "" }: Toleration, tainted: string): boolean {
  switch (operator) {
    case "Exists":
      return true;
    case "Equal":
      return value === tainted;
    case "Lt":
      return isWhole(tainted) && isWhole(value) && BigInt(tainted) < BigInt(value);
    case "Gt":
      return isWhole(tainted) && isWhole(value) && BigInt(tainted) > BigInt(value);
  }
}

function isWhole(text: string): boolean {
  return /^-?(0|[1-9]\d*)$/.test(text);
}

/** Those of the taints that no toleration accepts. */
export function untoleratedTaints(taints: readonly Taint[] = [], tolerations: readonly Toleration[] = []): Taint[] {
  return taints.filter((taint) => !tolerations.some((toleration) => tolerates(toleration, taint)));
}

/** Seconds for which all of the taints are tolerated together: 0 for not at all, Infinity for ever. */
export function toleratedFor(taints: readonly Taint[], tolerations: readonly Toleration[] = []): number {
  if (untoleratedTaints(taints, tolerations).length > 0) return 0;
  const used = tolerations.filter((toleration) => taints.some((taint) => tolerates(toleration, taint)));
  const bounds = used.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  return Math.max(0, Math.min(Number.POSITIVE_INFINITY, ...bounds));
}
