/** Looking at a cluster as somebody would who knows what a hub and a spoke need, and saying what is wrong. */
import { SelfSubjectReview } from "#api/authentication";
import { type Client, type Connection, isForbidden, isNetworkError, isTimeout, isUnauthorized } from "#kube";
import { humanDuration } from "#lib/duration";
import { causeOf } from "../hub-contact.ts";
import { broken, type Finding, ok, warning } from "./finding.ts";
import { hubFacts, isHub } from "./hub-facts.ts";
import { hubFindings } from "./hub-rules.ts";
import { isHosted, isSpoke, spokeFacts } from "./spoke-facts.ts";
import { spokeFindings } from "./spoke-rules.ts";

export type { Finding } from "./finding.ts";

export interface Diagnosis {
  readonly server: string;
  readonly isHub: boolean;
  readonly isSpoke: boolean;
  readonly findings: readonly Finding[];
}

/** More than this keeps certificates and tokens from being accepted. */
const CLOCK_SKEW_MS = 10_000;

export async function diagnose(client: Client, connection: Connection, now: Date): Promise<Diagnosis> {
  const about = `the API server ${client.server}`;
  const nothing = { server: client.server, isHub: false, isSpoke: false };
  try {
    await client.raw("/version");
  } catch (error) {
    return { ...nothing, findings: [reachFinding(error, about)] };
  }
  try {
    const findings = [ok(about, "it answers"), ...(await clockFindings(client, about, now))];
    const [hub, spoke] = [await isHub(client), await isSpoke(client)];
    if (hub) findings.push(...hubFindings(await hubFacts(client, now)));
    if (spoke) findings.push(...spokeFindings(await spokeFacts(client, connection, now)));
    if (!hub && !spoke && (await isHosted(client))) {
      findings.push(
        ok(about, "it is a spoke whose agents run on another cluster; run this with --context of that one"),
      );
      return { ...nothing, isSpoke: true, findings };
    }
    if (!hub && !spoke)
      findings.push(broken(about, "it is neither a hub nor a spoke", "capstan init, or capstan join"));
    return { server: client.server, isHub: hub, isSpoke: spoke, findings };
  } catch (error) {
    if (isForbidden(error)) {
      const said = error.status?.message ?? error.message;
      return {
        ...nothing,
        findings: [broken(about, `you may not look: ${said}`, "choose an administrator with --context")],
      };
    }
    if (isUnauthorized(error) || isNetworkError(error) || isTimeout(error)) {
      return { ...nothing, findings: [reachFinding(error, about)] };
    }
    throw error;
  }
}

function reachFinding(error: unknown, about: string): Finding {
  if (isUnauthorized(error)) {
    return broken(
      about,
      "it does not know who you are (401)",
      "renew the credentials in your kubeconfig, or choose another with --context",
    );
  }
  if (isForbidden(error))
    return broken(about, "it lets you ask nothing (403)", "choose an administrator with --context");
  const cause = error instanceof Error ? causeOf(error) : String(error);
  return broken(
    about,
    `it cannot be reached: ${cause}`,
    "see that it runs, or choose another with --context or --kubeconfig",
  );
}

/** By when it says that it answered; a server that does not say is not blamed. */
async function clockFindings(client: Client, about: string, now: Date): Promise<Finding[]> {
  const review = await client.create(SelfSubjectReview, { metadata: {} }).catch(() => undefined);
  const said = Date.parse(review?.metadata.creationTimestamp ?? "");
  const skew = Math.abs(said - now.getTime());
  if (Number.isNaN(said) || skew < CLOCK_SKEW_MS) return [];
  return [
    warning(about, `its clock and this machine's differ by ${humanDuration(skew)}`, "set the clocks of both by NTP"),
  ];
}
