/**
 * Certificates that live for a minute, renewed in real time by real agents against real servers, for as long as
 * `CAPSTAN_ROTATION_MINUTES` says (ten unless told). With a clock that is held, the same is proven for a month:
 * src/features/registration/agent/rotation.test.ts.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap } from "#api/core";
import { appliedManifestWorkCrd, ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, untilWorking } from "#app";
import { writeKubeconfig } from "#kube";
import { missingControlPlane } from "../kube/control-plane.ts";
import { type AuditedRequest, auditedSoFar } from "../support/audit.ts";
import { build, type Running, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { bootstrapKubeconfig, installDefinitions, prepareHub, prepareSpoke } from "../support/prepared.ts";
import { embeddedGround, type Ground, kubeGround, type OpenGround } from "./ground.ts";
import { longestGap, Observer } from "./observer.ts";

const MINUTES = Number(process.env.CAPSTAN_ROTATION_MINUTES ?? 10);
const DURATION_MS = MINUTES * 60_000;
/** A minute: agents ask for the next one when half of that is over. */
const CERTIFICATE_SECONDS = 60;
const LEASE_SECONDS = 5;
const CLUSTERS = ["rotating-1", "rotating-2", "rotating-3"];
/** How often the hub wishes something else, so that what agents do beside beating shows too. */
const WISH_EVERY_MS = 2_000;

const missing = missingControlPlane();

describe.concurrent(`agents whose certificates live for ${CERTIFICATE_SECONDS} s, for ${MINUTES} minutes`, () => {
  describe("on embedded API servers", () => rotation(embeddedGround));
  describe.skipIf(missing)(`on a real kube-apiserver${missing ? ` (${missing})` : ""}`, () => rotation(kubeGround));
});

function rotation(open: OpenGround): void {
  let ground: Ground;
  let observer: Observer;
  const programs: Running[] = [];
  const agents = new Map<string, Running>();
  const program = (...words: string[]) => {
    const running = start(...words);
    programs.push(running);
    return running;
  };

  beforeAll(async () => {
    build();
    ground = await open(CERTIFICATE_SECONDS);
    const { hub, spoke, hubFile, dir } = ground;
    await prepareHub(hub.client);
    await installDefinitions(hub.client, [manifestWorkCrd]);
    await prepareSpoke(spoke.client, "open-cluster-management-agent");
    await installDefinitions(spoke.client, [appliedManifestWorkCrd]);
    await writeKubeconfig(join(dir, "bootstrap"), await bootstrapKubeconfig(hub.client, hub.authority));
    observer = new Observer(ground);
    program("hub", "--kubeconfig", hubFile, "--controllers", "*,-knative-serving,-knative-eventing,-knative-leftovers");
  }, 300_000);

  afterAll(async () => {
    observer?.stop();
    for (const { child, ended } of programs.reverse()) {
      child.kill("SIGTERM");
      await ended;
    }
    await ground?.close();
  }, 120_000);

  const joins = async (name: string) => {
    const { hub, dir, spokeFile } = ground;
    const before = new Date();
    const agent = program(
      ...["agent", "--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", join(dir, "bootstrap")],
      ...["--cluster-name", name, "--namespace", `agent-${name}`],
    );
    agents.set(name, agent);
    await accept(hub.client, name, AbortSignal.timeout(60_000));
    await hub.client.patch(ManagedCluster, name, { spec: { leaseDurationSeconds: LEASE_SECONDS } });
    await untilWorking(hub.client, name, before, AbortSignal.timeout(60_000));
    await hub.client.create(ManifestWork, {
      metadata: { name: "wish", namespace: name },
      spec: { workload: { manifests: [wished(name, "0")] } },
    });
  };

  it(
    "are never without one that is good, and nobody notices",
    async () => {
      const { hub, spoke } = ground;
      await Promise.all(CLUSTERS.map(joins));
      const said = new Map([...agents].map(([name, { said: words }]) => [name, words().length]));
      const heard = (await auditedSoFar(hub)).length;
      const sockets = socketsOf(agents);
      for (const name of CLUSTERS) observer.of(name).beats.length = 0;

      const end = Date.now() + DURATION_MS;
      let revision = 0;
      while (Date.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, WISH_EVERY_MS));
        revision++;
        await Promise.all(
          CLUSTERS.map((name) =>
            hub.client.patch(ManifestWork, `${name}/wish`, {
              spec: { workload: { manifests: [wished(name, String(revision))] } },
            }),
          ),
        );
      }
      for (const name of CLUSTERS) {
        await eventually(async () =>
          expect((await spoke.client.get(ConfigMap, `default/${name}`)).data).toEqual({ revision: String(revision) }),
        );
      }

      const audited = await auditedSoFar(hub);
      const { items: left } = await hub.client.list(CertificateSigningRequest);
      const figures = CLUSTERS.map((name) => {
        const { beats, available, identities } = observer.of(name);
        const requests = observer.requestsOf(name);
        const approvals = approvalsOf(audited, requests);
        return {
          cluster: name,
          rotations: identities.length - 1,
          "requests left": left.filter(({ metadata }) => metadata.name.startsWith(`${name}-`)).length,
          requests: requests.length,
          unanswered: requests.filter(({ status }) => !status?.certificate).length,
          "approvals of each": [...new Set(approvals)].join(),
          beats: beats.length,
          "longest gap (s)": longestGap(beats) / 1000,
          "shortest rest of a life (s)": shortestRest(identities) / 1000,
          available: available.join(),
          sockets: `${sockets.get(name)} → ${socketsOf(agents).get(name)}`,
        };
      });
      const failures = audited.slice(heard).filter(isFailure);
      console.table(figures);
      console.log(`${audited.length - heard} requests to the hub, ${failures.length} of them refused`);

      for (const [at, name] of CLUSTERS.entries()) {
        const seen = figures[at];
        const { beats, identities, available } = observer.of(name);
        expect(identities.length - 1, `${name} rotated`).toBeGreaterThanOrEqual(
          Math.floor(DURATION_MS / (CERTIFICATE_SECONDS * 1000)),
        );
        expect(new Set(identities.map(({ serial }) => serial)).size, "each is another").toBe(identities.length);
        expect(shortestRest(identities), `${name} kept a certificate that had ended`).toBeGreaterThan(0);
        expect(seen?.requests, `${name} asked once for each`).toBe(identities.length);
        expect(seen?.unanswered).toBe(0);
        expect(seen?.["approvals of each"]).toBe("1");
        expect(longestGap(beats)).toBeLessThanOrEqual(2 * LEASE_SECONDS * 1000);
        expect(available.slice(available.indexOf("True"))).toEqual(["True"]);
        const words = agents.get(name)?.said().slice(said.get(name)) ?? "";
        expect(words.split("\n").filter((line) => /\s(WARN|ERROR)\s/.test(line))).toEqual([]);
      }
      expect(failures.map(({ requestURI, user }) => `${user?.username} ${requestURI}`)).toEqual([]);
      for (const [name, count] of socketsOf(agents)) {
        expect(count, `open sockets of ${name}`).toBeLessThanOrEqual((sockets.get(name) ?? 0) + 2);
      }
    },
    DURATION_MS + 300_000,
  );
}

function wished(name: string, revision: string) {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data: { revision } };
}

/**
 * Refused for want of who it is, or of a right. A work agent that begins may find a ledger only by asking for it, and
 * where there is none there is no right to it either.
 */
function isFailure({ requestURI, responseStatus: status }: AuditedRequest): boolean {
  return status?.code === 401 || (status?.code === 403 && !requestURI.includes("/configmaps/capstan-detach-ledger"));
}

/** How often each of these requests was approved. */
function approvalsOf(audited: readonly AuditedRequest[], requests: readonly CertificateSigningRequest[]): number[] {
  return requests.map(
    ({ metadata: { name } }) =>
      audited.filter(
        ({ requestURI, verb, responseStatus }) =>
          requestURI.split("?")[0]?.endsWith(`/certificatesigningrequests/${name}/approval`) &&
          ["update", "patch"].includes(verb) &&
          responseStatus?.code === 200,
      ).length,
  );
}

/** How much was left of the life of each certificate when the next one lay in its place. */
function shortestRest(identities: readonly { readonly since: number; readonly notAfter: number }[]): number {
  return Math.min(...identities.slice(1).map(({ since }, at) => (identities[at]?.notAfter ?? 0) - since));
}

/** By the cluster of the agent; none where the system does not tell. */
function socketsOf(agents: ReadonlyMap<string, Running>): Map<string, number> {
  return new Map(
    [...agents].map(([name, { child }]) => {
      try {
        const files = readdirSync(`/proc/${child.pid}/fd`, { withFileTypes: true });
        return [name, files.length];
      } catch {
        return [name, 0];
      }
    }),
  );
}
