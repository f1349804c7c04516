/**
 * Gets the agent its identity on the hub and renews it in time. The same controller runs while the cluster joins,
 * with the bootstrap identity, and ever after, with its own.
 *
 * Key     the Secret's name: there is one identity
 * Reads   Secret (where the identity is kept), CertificateSigningRequest (hub)
 * Writes  CertificateSigningRequest (hub), Secret
 * Twin    ocm:pkg/registration/register/secret_controller.go
 */
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterLabel } from "#api/cluster";
import { Secret, SecretType } from "#api/core";
import type { Condition } from "#api/meta";
import { isNotFound, type KubeconfigCluster } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { withAnnotations } from "#lib/meta";
import { generateKeyPair, parseCertificate } from "#lib/pki";
import { again, atStart, type Cluster, type Controller, done, type Outcome } from "#runtime";
import { Reason } from "../reasons.ts";
import { answerTo, requestDraft } from "./certificate-request.ts";
import {
  ASKED_ANNOTATION,
  authorityMark,
  HUB_SECRET,
  type HubIdentity,
  type HubTarget,
  hubIdentity,
  isUnusable,
  LEARNED_ANNOTATION,
  namesToKeep,
  secretData,
  trustedHub,
  trustsAs,
  wayData,
} from "./hub-identity.ts";
import { LONGEST_WAIT, renewalShare, renewalTime } from "./renewal.ts";

/** So many requests without an answer, and no more are made: someone must look at them. */
const MOST_OPEN_REQUESTS = 10;
/** How long to wait before asking again after a refusal, or while too many requests lie open. */
const PAUSE_AFTER_REFUSAL = 5 * 60_000;

/** The request that waits for its answer. Its key is nowhere else: without it the certificate would be useless. */
export interface Asking {
  request?: {
    name: string;
    key: string;
    /** Who asked: people approve what is asked with the bootstrap identity, the hub what an agent asks as itself. */
    as: AskedAs;
  };
  /** Not to ask again before (milliseconds). */
  notBefore?: number;
  /** The certificate that came last, and when (milliseconds). */
  received?: { certificate: string; at: number };
}

export type AskedAs = "bootstrap" | "itself";

export interface CertificateOptions {
  hub: Cluster;
  /** Where the identity is kept. */
  home: Cluster;
  namespace: string;
  target: HubTarget;
  as: AskedAs;
  asking: Asking;
  expirationSeconds?: number;
  clock: Clock;
  log: Logger;
  random: () => number;
  /** Called whenever a usable identity lies in the Secret, with the hub as it is to be trusted. */
  found(identity: HubIdentity, hub: KubeconfigCluster): void | Promise<void>;
  /** Tells the hub how a renewal went. */
  report?(condition: Pick<Condition, "status" | "reason" | "message">): Promise<void>;
}

export function certificateController(options: CertificateOptions): Controller {
  const { hub, home, namespace, target, as, asking, clock, log } = options;
  const { clusterName, agentName } = target;
  const secrets = home.cache(Secret, { namespace, fieldSelector: `metadata.name=${HUB_SECRET}` });
  const requests = hub.cache(CertificateSigningRequest, {
    labelSelector: `${ClusterLabel.name}=${clusterName},!${ClusterLabel.addon}`,
  });
  const share = renewalShare(options.random);

  return {
    name: "hub-certificate",
    triggers: [secrets.keyedBy(() => HUB_SECRET), requests.keyedBy(() => HUB_SECRET), atStart(HUB_SECRET)],

    async reconcile() {
      const now = clock.now();
      const secret = secrets.get(`${namespace}/${HUB_SECRET}`);
      const identity = hubIdentity(secret, target, now);
      if (!isUnusable(identity)) {
        if (secret && as === "itself") await followBootstrap(secret);
        await options.found(identity, trustedHub(secret, target.hub));
        const { received } = asking;
        const cameAt = received?.certificate === identity.certificate ? received.at : undefined;
        const left = renewalTime(identity, share, cameAt) - now.getTime();
        if (left > 0) return again(Math.min(left, LONGEST_WAIT));
      }
      // What was asked as itself nobody will answer to one who comes with the bootstrap identity again.
      if (as === "bootstrap" && asking.request?.as === "itself") delete asking.request;
      return asking.request ? await collect(asking.request, secret) : await ask(now, secret);
    },
  };

  /**
   * Others on the spoke read the way to the hub in the Secret; it holds for them too that the hub has a new authority.
   * And a cluster that belongs to the hub has no reason to ask anew, whatever it could ask with now.
   */
  async function followBootstrap(secret: Secret): Promise<void> {
    const trusted = trustedHub(secret, target.hub);
    const isTrusting = trustsAs(secret, trusted);
    if (isTrusting && secret.metadata.annotations?.[ASKED_ANNOTATION] === target.askedWith) return;
    await put(secret, isTrusting ? {} : wayData(trusted), noted);
    if (isTrusting) return;
    log.info("trusts the authority that the bootstrap kubeconfig names now", { cluster: clusterName });
  }

  function noted(secret: Secret): Secret {
    return withAnnotations(secret, { [ASKED_ANNOTATION]: target.askedWith });
  }

  async function ask(now: Date, secret: Secret | undefined): Promise<Outcome> {
    const pause = (asking.notBefore ?? 0) - now.getTime();
    if (pause > 0) return again(pause);
    const open = requests.list().filter(({ status }) => !status?.certificate);
    if (open.length >= MOST_OPEN_REQUESTS) {
      log.warn("too many certificate requests of this cluster are open on the hub; approve or delete them", {
        cluster: clusterName,
        open: open.length,
      });
      return again(PAUSE_AFTER_REFUSAL);
    }
    // An agent that is started again before its answer has come must ask under the same name.
    const names = namesToKeep(secret, target);
    if (names) {
      await put(secret, names);
      return done; // the Secret's change brings us back
    }
    const { privateKey: key } = generateKeyPair();
    const { expirationSeconds } = options;
    const draft = requestDraft({
      clusterName,
      agentName,
      key,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    });
    const { metadata } = await hub.client.create(CertificateSigningRequest, draft);
    asking.request = { name: metadata.name, key, as };
    log.info("asked the hub for a certificate; it waits for approval", {
      cluster: clusterName,
      agent: agentName,
      request: metadata.name,
    });
    return done; // the answer brings us back
  }

  async function collect({ name, key }: NonNullable<Asking["request"]>, secret: Secret | undefined): Promise<Outcome> {
    // Absent from the cache may only mean that it has not arrived there yet.
    const request = requests.get(name) ?? (await live(name));
    const answer = request ? answerTo(request, key) : ({ is: "refused", why: "the request was deleted" } as const);
    switch (answer.is) {
      case "waiting":
        return done;
      case "refused":
        delete asking.request;
        asking.notBefore = clock.now().getTime() + PAUSE_AFTER_REFUSAL;
        log.warn("the hub gives no certificate", { cluster: clusterName, request: name, why: answer.why });
        await report("False", Reason.certificateUpdateFailed, `Certificate request ${name} failed: ${answer.why}`);
        return again(PAUSE_AFTER_REFUSAL);
      case "issued":
        await store(secret, answer.certificate, key);
        delete asking.request;
        asking.received = { certificate: answer.certificate, at: clock.now().getTime() };
        if (hasEnded(answer.certificate)) {
          asking.notBefore = clock.now().getTime() + PAUSE_AFTER_REFUSAL;
          log.warn(
            "the certificate that the hub issued has ended by this machine's clock; set the clocks of both by NTP",
            {
              cluster: clusterName,
              request: name,
            },
          );
          return again(PAUSE_AFTER_REFUSAL);
        }
        log.info("stored the certificate that the hub issued", { cluster: clusterName, request: name });
        await report("True", Reason.certificateUpdated, `Client certificate of request ${name} is in use`);
        return done; // the Secret's change brings us back
    }
  }

  async function live(name: string): Promise<CertificateSigningRequest | undefined> {
    try {
      return await hub.client.get(CertificateSigningRequest, name);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async function store(secret: Secret | undefined, certificate: string, key: string): Promise<void> {
    const hubNow = trustedHub(secret, target.hub);
    const data = secretData({ hub: hubNow, clusterName }, { agentName, certificate, key });
    await put(secret, data, as === "bootstrap" ? noted : undefined);
  }

  async function put(
    secret: Secret | undefined,
    data: Record<string, string>,
    remark: (secret: Secret) => Secret = (wished) => wished,
  ): Promise<void> {
    const metadata = { name: HUB_SECRET, namespace };
    if (!secret) await home.commit(Secret, undefined, { metadata, type: SecretType.opaque, data });
    else await home.commit(Secret, secret, remark(forgetful({ ...secret, data: { ...secret.data, ...data } })));
  }

  /** What was learned of the hub is marked as such only while it says more than the bootstrap kubeconfig does. */
  function forgetful(secret: Secret): Secret {
    const isLearned = authorityMark(trustedHub(secret, target.hub)) !== authorityMark(target.hub);
    return isLearned ? secret : withAnnotations(secret, { [LEARNED_ANNOTATION]: undefined });
  }

  function hasEnded(certificate: string): boolean {
    return parseCertificate(certificate).notAfter <= clock.now();
  }

  /** A renewal that worked must not fail because the hub could not be told. */
  async function report(status: Condition["status"], reason: string, message: string): Promise<void> {
    await options
      .report?.({ status, reason, message })
      .catch((cause: unknown) => log.warn("cannot report the renewal", { cluster: clusterName, cause }));
  }
}
