/**
 * Gives every namespace what programs expect to find in one: the ServiceAccount `default` and the
 * ConfigMap `kube-root-ca.crt`.
 *
 * Key     Namespace name
 * Reads   Namespace, ServiceAccount, ConfigMap
 * Writes  ServiceAccount default, ConfigMap kube-root-ca.crt
 * Twin    kube-controller-manager: serviceaccount-controller, root-ca-certificate-publisher-controller
 */
import type { DynamicObject } from "#api/meta";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const NAMESPACES = "core/namespaces";
const ACCOUNTS = "core/serviceaccounts";
const CONFIG_MAPS = "core/configmaps";
const ROOT_CA = "kube-root-ca.crt";

export function namespaceContentController(options: {
  store: Store;
  writer: SystemWriter;
  authorityPem: string;
}): ServerController {
  const { store, writer, authorityPem } = options;
  return {
    name: "namespace-content",
    watches: [NAMESPACES, ACCOUNTS, CONFIG_MAPS],
    keysOf({ resource, type, key, object }) {
      if (resource === NAMESPACES) return [key];
      const isOurs =
        (resource === ACCOUNTS && object.metadata.name === "default" && type === "DELETED") ||
        (resource === CONFIG_MAPS && object.metadata.name === ROOT_CA);
      return isOurs && object.metadata.namespace ? [object.metadata.namespace] : [];
    },
    async reconcile(name) {
      const namespace = store.get(NAMESPACES, name);
      if (!namespace || namespace.metadata.deletionTimestamp) return undefined;
      await writer.ensure(ACCOUNTS, defaultServiceAccount(name));
      const wanted = rootCa(name, authorityPem);
      await writer.ensure(CONFIG_MAPS, wanted);
      const current = store.get(CONFIG_MAPS, `${name}/${ROOT_CA}`);
      const data = (current?.data ?? {}) as Record<string, string>;
      if (current && data["ca.crt"] !== authorityPem) {
        await writer.change(CONFIG_MAPS, `${name}/${ROOT_CA}`, (draft) => ({ ...draft, data: wanted.data }));
      }
      return undefined;
    },
  };
}

function defaultServiceAccount(namespace: string): DynamicObject {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name: "default" } };
}

function rootCa(namespace: string, authorityPem: string): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      namespace,
      name: ROOT_CA,
      annotations: {
        "kubernetes.io/description":
          "The certificate of the authority that signed the API server's certificate, for programs that talk to it.",
      },
    },
    data: { "ca.crt": authorityPem },
  };
}
