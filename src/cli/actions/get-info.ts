/** Shows what is installed on a hub or a spoke, and the sets of clusters. */
import {
  type ClusterSetInfo,
  clusterSetInfos,
  type DeploymentInfo,
  hubInfo,
  type InstallationInfo,
  klusterletInfo,
} from "#app";
import { type Client, yamlText } from "#kube";
import type { ClusterSetsFlags, InfoFlags } from "../commands/get.ts";
import { connect } from "../target.ts";
import type { TargetFlags } from "../target-options.ts";
import { print, say, table } from "../terminal.ts";
import { explained } from "./administration.ts";

export async function showInfo(name: "hub-info" | "klusterlet-info", { output, ...target }: InfoFlags): Promise<void> {
  const info = await read(target, name === "hub-info" ? hubInfo : klusterletInfo);
  if (output === "json") print(JSON.stringify(info, undefined, 2));
  else if (output === "yaml") print(yamlText(info));
  else print(infoText(info));
}

export async function showClusterSets({ output, ...target }: ClusterSetsFlags): Promise<void> {
  const sets = await read(target, clusterSetInfos);
  if (output === "json") print(JSON.stringify(sets, undefined, 2));
  else if (output === "yaml") print(yamlText(sets));
  else if (sets.length === 0) say("There are no sets yet; make one with `capstan create clusterset NAME`.");
  else print(output === "tree" ? setTree(sets) : setRows(sets));
}

async function read<T>(target: TargetFlags, look: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(target);
  try {
    return await look(client);
  } catch (error) {
    throw explained(error, client.server);
  } finally {
    client.close();
  }
}

function infoText({ server, operator, objects }: InstallationInfo): string {
  const lines = [`Server:    ${server}`, `Operator:  ${deploymentText(operator)}`];
  for (const { kind, name, clusterName, mode, conditions, deployments, definitions } of objects) {
    lines.push(
      "",
      `${kind} ${name}${clusterName === undefined ? "" : ` (cluster ${clusterName})`}, mode ${mode}`,
      ...conditions.map(({ type, status, reason, message }) => `  ${type}=${status} (${reason}) ${message}`.trimEnd()),
      ...deployments.map((deployment) => `  Deployment ${deploymentText(deployment)}`),
      ...definitions.map((definition) => `  CustomResourceDefinition ${definition}`),
    );
  }
  return lines.join("\n");
}

function deploymentText({ name, image, ready, isThere }: DeploymentInfo): string {
  return isThere ? `${name}  ${ready} ready  ${image}` : `${name}  is not there`;
}

function setRows(sets: readonly ClusterSetInfo[]): string {
  return table(
    ["Name", "Bound Namespaces", "Status", "Managed Namespaces"],
    sets.map(({ name, boundNamespaces, status, managedNamespaces }) => [
      name,
      boundNamespaces.join(","),
      status,
      managedNamespaces.join(","),
    ]),
  );
}

function setTree(sets: readonly ClusterSetInfo[]): string {
  const branches = sets.flatMap(({ name, boundNamespaces, status, managedNamespaces, clusters }, index) => {
    const isLast = index === sets.length - 1;
    const leaves = [
      `<BoundNamespace> ${boundNamespaces.join(",")}`,
      `<Status> ${status}`,
      `<ManagedNamespaces> ${managedNamespaces.join(",")}`,
      `<Clusters> ${clusters.join(",")}`,
    ].map((leaf) => leaf.trimEnd());
    return [
      `${isLast ? "└──" : "├──"} <${name}>`,
      ...leaves.map((leaf, at) => `${isLast ? "    " : "│   "}${at === leaves.length - 1 ? "└──" : "├──"} ${leaf}`),
    ];
  });
  return ["<ManagedClusterSet>", ...branches].join("\n");
}
