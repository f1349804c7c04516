/** Where the log of a container is to be had. */
import type { Container, Node, Pod } from "#api/core";
import { badRequest, plainError } from "../errors.ts";

/** Which address of a node is tried; those that a name server would have to know come after those that it need not. */
const PREFERRED = ["InternalIP", "ExternalIP", "Hostname"];
/** Of nodes that do not say on which they answer. */
const DEFAULT_PORT = 10_250;

/** The container that is meant; where there is only one it need not be named. */
export function containerNamed({ metadata, spec }: Pod, wanted: string): string {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const names = [...initContainers, ...containers, ...ephemeralContainers].map(({ name }: Container) => name);
  if (wanted !== "") {
    if (names.includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${metadata.name}`);
  }
  const [only, ...others] = containers;
  if (only && others.length === 0) return only.name;
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(" ")}]`);
}

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

export function addressOf({ status }: Node): NodeAddress {
  const addresses = status?.addresses ?? [];
  const [host] = PREFERRED.flatMap((wanted) => addresses.filter(({ type }) => type === wanted)).map(
    ({ address }) => address,
  );
  if (!host) {
    const known = addresses.map(({ type, address }) => `${type}:${address}`).join(" ");
    throw plainError(`no preferred addresses found; known addresses: [${known}]`);
  }
  return { host, port: status?.daemonEndpoints?.kubeletEndpoint?.Port || DEFAULT_PORT };
}
