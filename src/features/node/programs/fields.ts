/** What a Pod may ask about itself, for its variables and files (the "downward API"). */
import type { Pod } from "#api/core";

/** The value of a field, or undefined for one that cannot be asked for. */
export function fieldOf(pod: Pod, path: string): string | undefined {
  const { metadata, spec, status } = pod;
  const [, map, key] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? [];
  if (map && key) return (map === "labels" ? metadata.labels : metadata.annotations)?.[key] ?? "";
  switch (path) {
    case "metadata.name":
      return metadata.name;
    case "metadata.namespace":
      return metadata.namespace ?? "";
    case "metadata.uid":
      return metadata.uid ?? "";
    case "metadata.labels":
      return lines(metadata.labels);
    case "metadata.annotations":
      return lines(metadata.annotations);
    case "spec.nodeName":
      return spec.nodeName ?? "";
    case "spec.serviceAccountName":
      return spec.serviceAccountName ?? "";
    case "status.podIP":
      return status?.podIP ?? "";
    case "status.podIPs":
      return (status?.podIPs ?? []).map(({ ip }) => ip).join(",");
    case "status.hostIP":
      return status?.hostIP ?? "";
    case "status.hostIPs":
      return (status?.hostIPs ?? []).map(({ ip }) => ip).join(",");
    default:
      return undefined;
  }
}

/** `key="value"`, one a line, in order. */
function lines(map: Readonly<Record<string, string>> = {}): string {
  return Object.entries(map)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join("\n");
}
