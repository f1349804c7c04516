/**
 * Fills Secrets that ask for the token of a service account, and deletes them with the account.
 *
 * Key     Secret namespace/name
 * Reads   Secret, ServiceAccount
 * Writes  Secret data token, ca.crt, namespace; annotation kubernetes.io/service-account.uid
 * Twin    kube-controller-manager: serviceaccount-token-controller
 */
import { type DynamicObject, keyOf } from "#api/meta";
import type { TokenSigningKey } from "#lib/pki";
import { issueSecretToken, TokenSecret } from "../auth/index.ts";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const SECRETS = "core/secrets";
const ACCOUNTS = "core/serviceaccounts";

export interface TokenSecretOptions {
  readonly store: Store;
  readonly writer: SystemWriter;
  readonly key: TokenSigningKey;
  readonly authorityPem: string;
}

export function tokenSecretController({ store, writer, key, authorityPem }: TokenSecretOptions): ServerController {
  const accountOf = (secret: DynamicObject): DynamicObject | undefined => {
    const { namespace = "", annotations = {} } = secret.metadata;
    const account = store.get(ACCOUNTS, `${namespace}/${annotations[TokenSecret.accountName]}`);
    // An account that came after one of the same name does not inherit its tokens.
    const uid = annotations[TokenSecret.accountUid];
    return uid === undefined || uid === "" || uid === account?.metadata.uid ? account : undefined;
  };
  return {
    name: "token-secret",
    keysOf({ resource, key: changed, object }) {
      if (resource === SECRETS) return isTokenSecret(object) ? [changed] : [];
      const { namespace, name } = object.metadata;
      if (resource !== ACCOUNTS || namespace === undefined) return [];
      return store
        .list(SECRETS, { namespace })
        .items.filter((secret) => isTokenSecret(secret) && accountName(secret) === name)
        .map(keyOf);
    },
    async reconcile(at) {
      const secret = store.get(SECRETS, at);
      if (!secret || !isTokenSecret(secret) || secret.metadata.deletionTimestamp) return undefined;
      const account = accountOf(secret);
      if (!account) await writer.remove(SECRETS, secret);
      else if (filled(secret, account) !== secret) await writer.change(SECRETS, at, (draft) => filled(draft, account));
      return undefined;
    },
  };

  /** The Secret itself when it lacks nothing. */
  function filled(secret: DynamicObject, account: DynamicObject): DynamicObject {
    const { namespace = "", annotations = {} } = secret.metadata;
    const data = (secret.data ?? {}) as Readonly<Record<string, string>>;
    const authority = encoded(authorityPem);
    const { uid = "" } = account.metadata;
    const lacksNothing = data.token && data.namespace && data["ca.crt"] === authority;
    if (lacksNothing && annotations[TokenSecret.accountUid] === uid) return secret;
    return {
      ...secret,
      metadata: { ...secret.metadata, annotations: { ...annotations, [TokenSecret.accountUid]: uid } },
      data: {
        ...data,
        "ca.crt": authority,
        namespace: data.namespace || encoded(namespace),
        token: data.token || encoded(issueSecretToken({ key, serviceAccount: account, secret })),
      },
    };
  }
}

function isTokenSecret({ type }: DynamicObject): boolean {
  return type === TokenSecret.type;
}

function accountName({ metadata }: DynamicObject): string | undefined {
  return metadata.annotations?.[TokenSecret.accountName];
}

function encoded(text: string): string {
  return Buffer.from(text).toString("base64");
}
