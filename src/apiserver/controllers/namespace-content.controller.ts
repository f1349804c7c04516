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

const ROOT_CA = "kube-root-ca.crt";

export function namespaceContentController(options: {
  store: Store;
  writer: SystemWriter;
  authorityPem: string;
}): ServerController {
  const { store, writer, authorityPem } = options;
  return {
    name: "namespace-content",
    keysOf({ resource, type, key, object }) {
      if (resource === "core/namespaces") return [key];
      const isOurs =
        (resource === "core/serviceaccounts" && object.metadata.name === "default" && type === "DELETED") ||
        (resource === "core/configmaps" && object.metadata.name === ROOT_CA);
      return isOurs && object.metadata.namespace ? [object.metadata.namespace] : [];
    },
    async reconcile(name) {
      const namespace = store.get("core/namespaces", name);
      if (!namespace || namespace.metadata.deletionTimestamp) return undefined;
      await writer.ensure("core/serviceaccounts", defaultServiceAccount(name));
      const wanted = rootCa(name, authorityPem);
      await writer.ensure("core/configmaps", wanted);
      const current = store.get("core/configmaps", `${name}/${ROOT_CA}`);
      const data = (current?.data ?? {}) as Record<string, string>;
      if (current && data["ca.crt"] !== authorityPem) {
        await writer.change("core/configmaps", `${name}/${ROOT_CA}`, (draft) => ({ ...draft, data: wanted.data }));
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
