/**
 * Keeps a token for this cluster on the hub while the agent grants access: makes it, renews it in time, and makes it
 * anew when it is gone, was exchanged, or is worth nothing any more.
 *
 * Key     the Secret's name: there is one token
 * Reads   ManagedCluster, Secret (hub); ServiceAccount, ClusterRoleBinding (spoke)
 * Writes  ServiceAccount, ClusterRoleBinding, tokens (spoke); the content of the Secret that the hub made (hub)
 */
import { TokenRequest } from "#api/authentication";
import { CLUSTER_ACCESS, ClusterCondition, ManagedCluster } from "#api/cluster";
import { Secret, ServiceAccount } from "#api/core";
import { apiVersionOf, keyOf } from "#api/meta";
import { ClusterRoleBinding } from "#api/rbac";
import type { Clock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { withAnnotations } from "#lib/meta";
import { again, type Cluster, type Controller, done } from "#runtime";
import { ensure } from "../ensure.ts";
import { ACCESS_ACCOUNT, accessAccount, accessBinding, accessBindingName } from "./access-account.ts";
import { accessTokenIn, digestOf, TOKEN_DIGEST, withToken } from "./access-token.ts";
import { isUnusable, type Unusable } from "./hub-identity.ts";
import { LONGEST_WAIT, renewalShare, renewalTime } from "./renewal.ts";

/** A consumer's access outlives a stopped agent by a fifth of this at least. */
const TOKEN_SECONDS = 24 * 3600;

export interface AccessTokenOptions {
  hub: Cluster;
  spoke: Cluster;
  clusterName: string;
  /** The agent's, where the service account lives. */
  namespace: string;
  /** What those who come with the token may do on the spoke. */
  clusterRole: string;
  clock: Clock;
  log: Logger;
  random: () => number;
}

export function accessTokenController(options: AccessTokenOptions): Controller {
  const { hub, spoke, clusterName, namespace, clusterRole, clock, log } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  const secrets = hub.cache(Secret, {
    namespace: clusterName,
    fieldSelector: `metadata.name=${CLUSTER_ACCESS.secret}`,
  });
  const accounts = spoke.cache(ServiceAccount, { namespace, fieldSelector: `metadata.name=${ACCESS_ACCOUNT}` });
  const bindingName = accessBindingName(namespace);
  const bindings = spoke.cache(ClusterRoleBinding, { fieldSelector: `metadata.name=${bindingName}` });
  const share = renewalShare(options.random);
  const key = () => CLUSTER_ACCESS.secret;
  /** What we wrote last, and the state that it replaced: the cache may show that one for a moment longer. */
  let written: { digest: string; replaced: string | undefined; secret: Secret } | undefined;

  return {
    name: "cluster-access-token",
    triggers: [clusters.keyedBy(key), secrets.keyedBy(key), accounts.keyedBy(key), bindings.keyedBy(key)],

    async reconcile() {
      const isAccepted = isTrue(clusters.get(clusterName)?.status?.conditions, ClusterCondition.HubAccepted);
      const secret = currentSecret();
      if (!isAccepted || !secret) return done; // the hub makes the Secret, which brings us back

      const [knownAccount, knownBinding] = [accounts.get(`${namespace}/${ACCESS_ACCOUNT}`), bindings.get(bindingName)];
      const account = await ensure(spoke, ServiceAccount, knownAccount, accessAccount(options));
      await ensure(spoke, ClusterRoleBinding, knownBinding, accessBinding(options, clusterRole));

      const stay = stayOf(secret, account, written?.digest ?? account.metadata.annotations?.[TOKEN_DIGEST]);
      if (!isUnusable(stay)) {
        if (written) await remember(account, written.digest);
        return again(Math.min(stay.left, LONGEST_WAIT));
      }
      const text = await requestToken(account);
      const digest = digestOf(text);
      const filled = withToken(secret, text);
      // One that is no good by our own measure would be replaced at once, and so for ever, without a pause.
      const fresh = stayOf(filled, account, digest);
      if (isUnusable(fresh)) throw new Error(`the spoke's token for ${keyOf(account)} is of no use: ${fresh.why}`);

      const stored = await hub.client.update(Secret, filled); // agents may update it, not patch it
      written = { digest, replaced: secret.metadata.resourceVersion, secret: stored };
      await remember(account, digest);
      log.info("put a new token for this cluster on the hub", {
        cluster: clusterName,
        clusterRole,
        because: stay.why,
      });
      return done; // the Secret's change brings us back
    },
  };

  /** How many milliseconds the token in the Secret may stay there, or why it may not. */
  function stayOf(secret: Secret, account: ServiceAccount, digest: string | undefined): { left: number } | Unusable {
    const now = clock.now();
    const token = accessTokenIn(secret, account, digest, now);
    if (isUnusable(token)) return token;
    const left = renewalTime(token, share) - now.getTime();
    return left > 0 ? { left } : { why: "it ends too soon" };
  }

  function currentSecret(): Secret | undefined {
    const cached = secrets.get(`${clusterName}/${CLUSTER_ACCESS.secret}`);
    const isStale = cached && written && cached.metadata.resourceVersion === written.replaced;
    return isStale ? written?.secret : cached;
  }

  async function requestToken(account: ServiceAccount): Promise<string> {
    const { status } = await spoke.client.createSub<TokenRequest, ServiceAccount>(
      ServiceAccount,
      keyOf(account),
      "token",
      {
        apiVersion: apiVersionOf(TokenRequest),
        kind: TokenRequest.kind,
        metadata: {},
        spec: { expirationSeconds: TOKEN_SECONDS },
      },
    );
    if (!status?.token) throw new Error(`the spoke gave no token for service account ${keyOf(account)}`);
    return status.token;
  }

  /** For the agent that is started after this one. */
  async function remember(account: ServiceAccount, digest: string): Promise<void> {
    await spoke.commit(ServiceAccount, account, withAnnotations(account, { [TOKEN_DIGEST]: digest }));
  }
}
