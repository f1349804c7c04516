/** Two API servers of one kind, whose hub signs certificates that live for a minute and writes down what it is asked. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectionOf, createClient, type Kubeconfig, loadKubeconfig, writeKubeconfig } from "#kube";
import { startControlPlane } from "../kube/control-plane.ts";
import { start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";
import type { TestServer } from "../support/servers.ts";

export interface Ground {
  readonly dir: string;
  readonly hub: TestServer;
  readonly spoke: TestServer;
  /** A file for programs. */
  readonly hubFile: string;
  readonly spokeFile: string;
  close(): Promise<void>;
}

export type OpenGround = (certificateSeconds: number) => Promise<Ground>;

/** `capstan apiserver` in a process of its own. */
export async function embeddedGround(certificateSeconds: number): Promise<Ground> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-rotation-"));
  const server = start(
    ...["apiserver", "--clusters", "hub,spoke", "--data-dir", dir, ...portOf(dir), "--no-node"],
    ...["--signing-duration", `${certificateSeconds}s`],
  );
  const close = async () => {
    server.child.kill("SIGTERM");
    await server.ended;
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const [hub, spoke] = await Promise.all([served(dir, "hub"), served(dir, "spoke")]);
    return {
      ...{ dir, hub, spoke, hubFile: join(dir, "hub.kubeconfig"), spokeFile: join(dir, "spoke.kubeconfig") },
      async close() {
        await Promise.all([hub.close(), spoke.close()]);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw new Error(`the API servers did not start: ${server.said()}`, { cause: error });
  }
}

async function served(dir: string, name: string): Promise<TestServer> {
  const kubeconfig = await eventually(() => loadKubeconfig({ path: join(dir, `${name}.kubeconfig`) }));
  const connection = await connectionOf(kubeconfig);
  const client = createClient({ connection });
  await eventually(() => client.raw("/readyz"));
  return {
    name,
    url: connection.server,
    authority: connection.ca ?? "",
    kubeconfig,
    client,
    auditLog: join(dir, "data", name, "audit.log"),
    close: async () => client.close(),
  };
}

/** kube-apiserver, kube-controller-manager and etcd, twice. */
export async function kubeGround(certificateSeconds: number): Promise<Ground> {
  const dir = await mkdtemp(join(tmpdir(), "capstan-rotation-kube-"));
  const write = async (name: string, kubeconfig: Kubeconfig) => {
    const file = join(dir, `${name}.kubeconfig`);
    await writeKubeconfig(file, kubeconfig);
    return file;
  };
  const servers: TestServer[] = [];
  const close = async () => {
    await Promise.all(servers.map((server) => server.close()));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const hub = await startControlPlane("hub", { audit: true, signingSeconds: certificateSeconds });
    servers.push(hub);
    const spoke = await startControlPlane("spoke");
    servers.push(spoke);
    const [hubFile, spokeFile] = [await write("hub", hub.kubeconfig), await write("spoke", spoke.kubeconfig)];
    return { dir, hub, spoke, hubFile, spokeFile, close };
  } catch (error) {
    await close();
    throw error;
  }
}
