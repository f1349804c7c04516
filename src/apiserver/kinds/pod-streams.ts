/** The subresources of a Pod that are streams: its logs, and what would need a process in it. */
import { ApiError } from "../errors.ts";
import type { ConnectRequest, GroupVersionKind, Subresource } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";

const kind = (name: string): GroupVersionKind => ({ group: "", version: "v1", kind: name });

export function podStreams(dependencies: KindDependencies): Subresource[] {
  return [
    {
      name: "log",
      responseKind: kind("Pod"),
      verbs: ["get"],
      connect: (request) => dependencies.readLog(request),
    },
    unserved("attach", "PodAttachOptions"),
    unserved("exec", "PodExecOptions"),
    unserved("portforward", "PodPortForwardOptions"),
  ];
}

/** Known, so that asking for it is told apart from a mistake, and refused with a reason. */
function unserved(name: string, options: string): Subresource {
  return {
    name,
    responseKind: kind(options),
    verbs: ["create", "get"],
    connect: async ({ parent }: ConnectRequest) => {
      throw new ApiError(
        501,
        "NotImplemented",
        `pods/${name} is not served: Pod ${parent.metadata.namespace}/${parent.metadata.name} is simulated or runs where nothing can reach into it; \`kubectl logs\` works`,
        { kind: `pods/${name}`, name: parent.metadata.name },
      );
    },
  };
}
