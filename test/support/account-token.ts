/** Being a service account, as a Pod is one. */
import type { TokenRequest } from "#api/authentication";
import { ServiceAccount } from "#api/core";
import type { TestServer } from "./servers.ts";

/** A token for the account `namespace/name`. */
export async function accountToken({ client }: TestServer, account: string): Promise<string> {
  const body = { metadata: {}, spec: { expirationSeconds: 3600 } };
  const { status } = await client.createSub<TokenRequest, ServiceAccount>(ServiceAccount, account, "token", body);
  return status?.token ?? "";
}
