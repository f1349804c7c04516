/** Who may ask a node: whoever has a certificate of the cluster's clients and may reach nodes through the API server. */
import { SubjectAccessReview } from "#api/authorization";
import { ConfigMap } from "#api/core";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import { parseCertificates, verifyClientCertificate } from "#lib/pki";

/** Where an API server publishes the authorities of its clients. */
const AUTHENTICATION = "kube-system/extension-apiserver-authentication";
const CLIENT_AUTHORITIES = "client-ca-file";

const VERBS: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

export type Access = "allowed" | "unauthorized" | "forbidden";

export interface AccessQuestion {
  readonly client: Client;
  readonly clock: Clock;
  readonly node: string;
  readonly method: string;
  /** DER of the certificate that the caller showed. */
  readonly certificate: Buffer | undefined;
}

/** Asked anew every time: a log is read seldom, and rights that were taken away are gone at once. */
export async function accessOf({ client, clock, node, method, certificate }: AccessQuestion): Promise<Access> {
  if (!certificate) return "unauthorized";
  const { data = {} } = await client.get(ConfigMap, AUTHENTICATION);
  const cas = parseCertificates(data[CLIENT_AUTHORITIES] ?? "");
  const verified = verifyClientCertificate({ der: certificate, cas, now: clock.now() });
  if (!verified.trusted) return "unauthorized";
  const { commonName, organizations } = verified.certificate.subject;
  const review = await client.create(SubjectAccessReview, {
    metadata: {},
    spec: {
      user: commonName ?? "",
      groups: [...organizations, "system:authenticated"],
      resourceAttributes: {
        verb: VERBS[method] ?? method.toLowerCase(),
        version: "v1",
        resource: "nodes",
        subresource: "proxy",
        name: node,
      },
    },
  });
  return review.status?.allowed ? "allowed" : "forbidden";
}
