/** kubectl and a port that many clusters share: it keeps the path of the kubeconfig in front of all that it asks. */
import { execFile, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FleetDirectory, startApiServer } from "#app";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.25"}]}
`;

const isMissing = spawnSync("kubectl", ["version", "--client"]).error !== undefined;
if (isMissing && process.env.CAPSTAN_REQUIRE?.split(",").includes("kube")) throw new Error("there is no kubectl");

describe.skipIf(isMissing)("kubectl on a shared port", () => {
  let dir: string;
  let server: Awaited<ReturnType<typeof startApiServer>>;
  const run = promisify(execFile);
  const kubectl = async (context: string, ...args: string[]) => {
    const env = { PATH: process.env.PATH ?? "", HOME: dir, KUBECONFIG: join(dir, "kubeconfig") };
    return (await run("kubectl", ["--context", context, ...args], { env })).stdout;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "capstan-kubectl-shared-"));
    const directory = new FleetDirectory(dir);
    await directory.create();
    server = await startApiServer({
      directory,
      clusters: ["a", "b"],
      firstPort: 20_000,
      portIsWish: false,
      sharedPort: true,
      durability: "memory",
      signingDurationMs: 3_600_000,
      nodes: 0,
      version: "0.0.0-test",
      clock: systemClock,
      log: silentLog,
    });
    await writeFile(join(dir, "web.yaml"), DEPLOYMENT);
  });
  afterAll(async () => {
    await server?.close();
    await rm(dir, { recursive: true, force: true });
  });

  it.each([
    ["finds the kinds", ["api-resources"], /deployments\s+deploy\s+apps\/v1/],
    ["explains fields out of OpenAPI", ["explain", "deployment.spec.replicas"], /FIELD: replicas/],
    ["validates and applies", ["apply", "-f", "web.yaml"], /deployment.apps\/web created/],
    ["applies on the server's side", ["apply", "--server-side", "--force-conflicts", "-f", "web.yaml"], /applied/],
    ["shows what would change", ["diff", "-f", "web.yaml"], /^$/],
    ["lists as a table", ["get", "deployments"], /web\s+0\/0/],
    ["scales", ["scale", "deployment/web", "--replicas=0"], /scaled/],
    ["knows who asks", ["auth", "whoami"], /capstan-admin/],
    ["reads any path", ["get", "--raw", "/readyz"], /^ok$/],
    ["deletes and waits", ["delete", "deployment", "web"], /deleted/],
  ])("%s", async (_, args, answer) => {
    const here = args.map((arg) => (arg === "web.yaml" ? join(dir, arg) : arg));
    expect(await kubectl("a", ...here)).toMatch(answer);
  });

  it("does not see the neighbour's objects", async () => {
    await kubectl("a", "create", "configmap", "mine");
    expect(await kubectl("b", "get", "configmaps", "-o", "name")).not.toContain("mine");
  });
});
