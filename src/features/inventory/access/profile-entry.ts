/** The access provider entry that a profile carries for clusters whose token lies in a Secret on the hub. */
import type { AccessProvider } from "#api/inventory";
import { EXEC_EXTENSION } from "#kube";

export interface TokenAccess {
  /** Where consumers reach the cluster. */
  readonly server: string;
  /** PEM of the authorities of its certificate; those that the consumer's system trusts unless told. */
  readonly authority?: string;
  /** Where on the hub the token lies. */
  readonly secretNamespace: string;
  readonly secretName: string;
  readonly key: string;
}

/** For the plugin `token-secretreader`, by whose name consumers find it. */
export function tokenAccessProvider({ server, authority, ...place }: TokenAccess): AccessProvider {
  const { secretName, secretNamespace, key } = place;
  return {
    name: "token-secretreader",
    cluster: {
      server,
      ...(authority !== undefined && {
        "certificate-authority-data": Buffer.from(authority, "utf8").toString("base64"),
      }),
      extensions: [{ name: EXEC_EXTENSION, extension: { secretName, secretNamespace, key } }],
    },
  };
}
