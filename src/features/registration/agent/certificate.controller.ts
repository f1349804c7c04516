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
import { isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { generateKeyPair } from "#lib/pki";
import { again, atStart, type Cluster, type Controller, done, type Outcome } from "#runtime";
import { Reason } from "../reasons.ts";
import { answerTo, requestDraft } from "./certificate-request.ts";
import { HUB_SECRET, type HubIdentity, type HubTarget, hubIdentity, isUnusable, secretData } from "./hub-identity.ts";
import { LONGEST_WAIT, renewalShare, renewalTime } from "./renewal.ts";

/** So many requests without an answer, and no more are made: someone must look at them. */
const MOST_OPEN_REQUESTS = 10;
/** How long to wait before asking again after a refusal, or while too many requests lie open. */
const PAUSE_AFTER_REFUSAL = 5 * 60_000;

/** The request that waits for its answer. Its key is nowhere else: without it the certificate would be useless. */
export interface Asking {
  request?: { name: string; key: string };
  /** Not to ask again before (milliseconds). */
  notBefore?: number;
}

export interface CertificateOptions {
  hub: Cluster;
  /** Where the identity is kept. */
  home: Cluster;
  namespace: string;
  target: HubTarget;
  /** The name that a new identity gets. */
  agentName: string;
  asking: Asking;
  expirationSeconds?: number;
  clock: Clock;
  log: Logger;
  random: () => number;
  /** Called whenever a usable identity lies in the Secret. */
  found(identity: HubIdentity): void;
  /** Tells the hub how a renewal went. */
  report?(condition: Pick<Condition, "status" | "reason" | "message">): Promise<void>;
}

export function certificateController(options: CertificateOptions): Controller {
  const { hub, home, namespace, target, agentName, asking, clock, log } = options;
  const { clusterName } = target;
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
        options.found(identity);
        const left = renewalTime(identity, share) - now.getTime();
        if (left > 0) return again(Math.min(left, LONGEST_WAIT));
      }
      return asking.request ? await collect(asking.request, secret) : await ask(now);
    },
  };

  async function ask(now: Date): Promise<Outcome> {
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
    const { privateKey: key } = generateKeyPair();
    const { expirationSeconds } = options;
    const draft = requestDraft({
      clusterName,
      agentName,
      key,
      ...(expirationSeconds !== undefined && { expirationSeconds }),
    });
    const { metadata } = await hub.client.create(CertificateSigningRequest, draft);
    asking.request = { name: metadata.name, key };
    log.info("asked the hub for a certificate; it waits for approval", {
      cluster: clusterName,
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
        await store(secret, { agentName, certificate: answer.certificate, key });
        delete asking.request;
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

  async function store(
    secret: Secret | undefined,
    identity: Pick<HubIdentity, "agentName" | "certificate" | "key">,
  ): Promise<void> {
    const data = secretData(target, identity);
    if (secret) await home.commit(Secret, secret, { ...secret, data: { ...secret.data, ...data } });
    else
      await home.commit(Secret, undefined, {
        metadata: { name: HUB_SECRET, namespace },
        type: SecretType.opaque,
        data,
      });
  }

  /** A renewal that worked must not fail because the hub could not be told. */
  async function report(status: Condition["status"], reason: string, message: string): Promise<void> {
    await options
      .report?.({ status, reason, message })
      .catch((cause: unknown) => log.warn("cannot report the renewal", { cluster: clusterName, cause }));
  }
}
