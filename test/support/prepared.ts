/** A hub and a spoke made ready by hand, for tests of what runs on them and not of how it gets there. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { TokenRequest } from "#api/authentication";
import { ManagedClusterSetBinding } from "#api/cluster";
import { Namespace, ServiceAccount } from "#api/core";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { apiVersionOf, type Kind, type KubeObject, keyOf, kind } from "#api/meta";
import { FLEET_NAMESPACE } from "#app";
import { Bootstrap, bootstrapObjects, hubCrds, spokeCrds } from "#features/registration/hub";
import { type Client, type Draft, isAlreadyExists, isNotFound, type Kubeconfig, kubeconfigFor } from "#kube";
import { untilEstablished } from "./definitions.ts";

const FLEET_SET = "default";
const TOKEN_SECONDS = 3600;

/** Installs kinds, roles and the namespace of the fleet on a hub. Doing it again changes nothing. */
export async function prepareHub(hub: Client): Promise<void> {
  await installDefinitions(hub, [...hubCrds, knativeServingCrd, knativeEventingCrd]);
  for (const object of bootstrapObjects()) await ensure(hub, kindOf(object), object);
  await ensure(hub, Namespace, { metadata: { name: FLEET_NAMESPACE } });
  await ensure(hub, ManagedClusterSetBinding, {
    metadata: { namespace: FLEET_NAMESPACE, name: FLEET_SET },
    spec: { clusterSet: FLEET_SET },
  });
}

/** Installs the kinds by which a spoke tells about itself, and the namespace of its agent. */
export async function prepareSpoke(spoke: Client, agentNamespace: string): Promise<void> {
  await installDefinitions(spoke, spokeCrds);
  await ensure(spoke, Namespace, { metadata: { name: agentNamespace } });
}

/** A kubeconfig with which a cluster can ask the hub to be let in. */
export async function bootstrapKubeconfig(hub: Client, authority: string): Promise<Kubeconfig> {
  const account = `${Bootstrap.namespace}/${Bootstrap.serviceAccount}`;
  const { status } = await hub.createSub<TokenRequest, ServiceAccount>(ServiceAccount, account, "token", {
    apiVersion: apiVersionOf(TokenRequest),
    kind: TokenRequest.kind,
    metadata: {},
    spec: { expirationSeconds: TOKEN_SECONDS },
  });
  return kubeconfigFor({ name: "hub", server: hub.server, ca: authority, token: status?.token ?? "" });
}

/** Ends when all of them are served. Those that are there stay as they are. */
export async function installDefinitions(
  client: Client,
  definitions: readonly CustomResourceDefinition[],
): Promise<void> {
  await Promise.all(definitions.map((definition) => ensure(client, CustomResourceDefinition, definition)));
  await untilEstablished(client, definitions);
}

async function ensure<T extends KubeObject>(client: Client, kind: Kind<T>, object: Draft<T>): Promise<void> {
  const key = keyOf(object as unknown as T);
  try {
    await client.get(kind, key);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    await client.create(kind, object).catch((failure: unknown) => {
      if (!isAlreadyExists(failure)) throw failure;
    });
  }
}

function kindOf({ apiVersion, kind: name }: KubeObject): Kind<KubeObject> {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const namespaced = ["ServiceAccount"].includes(name);
  return kind<KubeObject>({ group, version, kind: name, plural: `${name.toLowerCase()}s`, namespaced });
}
