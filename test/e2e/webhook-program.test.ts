/** The program of a webhook: how it follows its certificate, says where it listens, and ends; and a hub's own, killed. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster } from "#api/cluster";
import { Service } from "#api/core";
import { WEBHOOK_URL_ANNOTATION } from "#api/operator";
import { manifestWorkCrd } from "#api/work";
import { runWebhook } from "#app";
import { hubCrds } from "#features/registration/hub";
import { kubeconfigText } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createCertificateAuthority, parseCertificate } from "#lib/pki";
import { refusalOf } from "../suites/admission.ts";
import { build, type Running, run, start } from "../support/command.ts";
import { untilEstablished } from "../support/definitions.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { servingPair } from "../support/serving-pair.ts";

const ca = createCertificateAuthority({ commonName: "authority", now: new Date() });
const SERVICE = { namespace: "default", name: "webhook" };
const GATES = { DefaultClusterSet: true, NilExecutorValidating: false };

let server: TestServer;
let dir: string;
beforeAll(async () => {
  build();
  server = await startEmbedded("webhooks");
  dir = await mkdtemp(join(tmpdir(), "capstan-webhook-"));
  const definitions = [...new Map([...hubCrds, manifestWorkCrd].map((each) => [each.metadata.name, each])).values()];
  for (const each of definitions) await server.client.create(CustomResourceDefinition, each);
  await untilEstablished(server.client, definitions);
  await server.client.create(Service, { metadata: SERVICE, spec: { ports: [{ port: 9443 }] } });
  await writeFile(join(dir, "kubeconfig"), kubeconfigText(server.kubeconfig), { mode: 0o600 });
}, 120_000);
afterAll(async () => {
  await server?.close();
  await rm(dir, { recursive: true, force: true });
});

/** Puts a new pair into the folder as kubelets do, by one link; the answer is its serial number. */
async function renewed(folder: string): Promise<string> {
  const { certificate, key } = servingPair(ca);
  const fresh = join(folder, `..${parseCertificate(certificate).serial}`);
  await mkdir(fresh, { recursive: true });
  await writeFile(join(fresh, "tls.crt"), certificate);
  await writeFile(join(fresh, "tls.key"), key, { mode: 0o600 });
  await symlink(fresh, join(folder, "..next"));
  await rename(join(folder, "..next"), join(folder, "..data"));
  for (const file of ["tls.crt", "tls.key"]) {
    await symlink(join("..data", file), join(folder, file)).catch(() => {});
  }
  return parseCertificate(certificate).serial;
}

function shownAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, ca: ca.certificate }, () => {
      resolve(parseCertificate(socket.getPeerCertificate().raw).serial);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

interface Program {
  port(): Promise<number>;
  stop(): Promise<void>;
}

function program(folder: string): Program {
  const stopping = new AbortController();
  let heard: (port: number) => void = () => {};
  const port = new Promise<number>((resolve) => {
    heard = resolve;
  });
  const ended = runWebhook({
    program: "registration",
    client: server.client,
    gates: GATES,
    address: { port: 0 },
    certificates: folder,
    service: SERVICE,
    onListening: (bound) => heard(bound),
    clock: systemClock,
    log: silentLog,
    signal: stopping.signal,
  });
  return {
    port: () => port,
    stop: () => {
      stopping.abort();
      return ended;
    },
  };
}
const said = async () =>
  (await server.client.get(Service, `${SERVICE.namespace}/${SERVICE.name}`)).metadata.annotations?.[
    WEBHOOK_URL_ANNOTATION
  ];

describe("the program of a webhook", () => {
  it("waits for its certificate, shows the next one without a restart, and tells its Service where it is", async () => {
    const folder = await mkdtemp(join(dir, "certificates-"));
    const webhook = program(folder);
    const first = await renewed(folder);
    const port = await webhook.port();
    expect(await shownAt(port)).toBe(first);
    await eventually(async () => expect(await said()).toBe(`https://127.0.0.1:${port}`));
    const second = await renewed(folder);
    await eventually(async () => expect(await shownAt(port)).toBe(second));
    await writeFile(join(folder, "..data", "tls.crt"), "nonsense");
    const third = await renewed(folder);
    await eventually(async () => expect(await shownAt(port)).toBe(third));
    await webhook.stop();
    expect(await said(), "nobody is led to a program that has ended").toBeUndefined();
    await expect(shownAt(port)).rejects.toThrow("ECONNREFUSED");
  });

  it("is asked if it started last, and another one when it ends", async () => {
    const folder = await mkdtemp(join(dir, "certificates-"));
    await renewed(folder);
    const older = program(folder);
    const olderUrl = `https://127.0.0.1:${await older.port()}`;
    await eventually(async () => expect(await said()).toBe(olderUrl));
    const newer = program(folder);
    const newerUrl = `https://127.0.0.1:${await newer.port()}`;
    await eventually(async () => expect(await said()).toBe(newerUrl));
    await newer.stop();
    await eventually(async () => expect(await said()).toBe(olderUrl));
    await older.stop();
  });

  it("can be stopped while there is no certificate", async () => {
    const webhook = program(await mkdtemp(join(dir, "certificates-")));
    await webhook.stop();
  });

  it.each([
    [["webhook", "registration"], /--certificate-dir/],
    [["webhook", "work", "--certificate-dir", "/x", "--service", "a"], /--service "a" must be NAMESPACE\/NAME/],
    [
      ["webhook", "work", "--certificate-dir", "/x", "--feature-gates", "DefaultClusterSet=true"],
      /unknown feature gate "DefaultClusterSet"; there are NilExecutorValidating/,
    ],
    [["webhook", "nothing"], /unknown command 'nothing'|too many arguments/],
    [["hub", "--webhook-url", "http://x"], /must be a URL like https:\/\/host:port/],
  ])("%j is refused in one line", async (words, problem) => {
    const ended = await run(...words);
    expect(ended.code).toBe(2);
    expect(ended.stderr).toMatch(problem);
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("capstan hub without an operator", () => {
  const running: Running[] = [];
  const hub = (...flags: string[]): Running => {
    const started = start("hub", "--kubeconfig", join(dir, "kubeconfig"), ...flags);
    running.push(started);
    return started;
  };
  afterAll(async () => {
    for (const { child, ended } of running) {
      child.kill("SIGKILL");
      await ended;
    }
  });
  const name = "managedclustervalidators.admission.cluster.open-cluster-management.io";
  const url = async () =>
    (await server.client.get(ValidatingWebhookConfiguration, name)).webhooks?.[0]?.clientConfig.url;
  const probe = () =>
    refusalOf(server.client.create(ManagedCluster, { metadata: { name: "has.a.dot" } }, { dryRun: true }));
  const untilAsked = () => eventually(async () => expect(await probe()).toMatchObject({ code: 400 }));

  it("serves its webhooks; killed, nothing is let in; started again, it heals by itself; stopped, nothing is left", async () => {
    const killed = hub();
    await untilAsked();
    const before = await url();
    await eventually(() => expect(killed.said()).toMatch(/admission webhooks answer at https:\/\/127\.0\.0\.1:\d+/));
    killed.child.kill("SIGKILL");
    await killed.ended;
    expect(await probe()).toMatchObject({ code: 500, message: expect.stringContaining("failed calling webhook") });

    const next = hub();
    await untilAsked();
    expect(await url()).not.toBe(before);
    await server.client.create(ManagedCluster, { metadata: { name: "let-in" } });
    next.child.kill("SIGTERM");
    expect((await next.ended).code).toBe(0);
    await expect(url()).rejects.toThrow("not found");
    await server.client.delete(ManagedCluster, "let-in");
  });

  it("serves none where it is told not to", async () => {
    const other = hub("--no-webhooks", "--metrics-address", "0");
    await eventually(() => expect(other.said()).toContain("health and metrics at"));
    const { metadata } = await server.client.create(ManagedCluster, { metadata: { name: "plain" } });
    expect(metadata.labels ?? {}).toEqual({});
    await expect(url()).rejects.toThrow("not found");
    other.child.kill("SIGTERM");
    expect((await other.ended).code).toBe(0);
  });
});
