/** A container of our own image as a node would start it: Secrets as files, and the Pod's service account. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Secret } from "#api/core";
import type { ProgramContext } from "#app";
import { accountToken } from "./account-token.ts";
import type { TestServer } from "./servers.ts";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

export class PodFiles {
  /** What the program wrote. */
  readonly lines: string[] = [];
  /** How often it said that it works. */
  readiness = 0;
  readonly #server: TestServer;
  readonly #root: string;
  #changes = 0;

  private constructor(server: TestServer, root: string) {
    this.#server = server;
    this.#root = root;
  }

  /** `account` is `namespace/name`. */
  static async start(server: TestServer, account: string): Promise<PodFiles> {
    const files = new PodFiles(server, await mkdtemp(join(tmpdir(), "capstan-pod-")));
    const [namespace = ""] = account.split("/");
    await files.put(ACCOUNT, {
      namespace,
      "ca.crt": server.authority,
      token: await accountToken(server, account),
    });
    return files;
  }

  /** All at once, as a kubelet does it. */
  async put(path: string, content: Readonly<Record<string, string>>): Promise<void> {
    const folder = `${this.#root}${path}`;
    const version = `..${++this.#changes}`;
    await mkdir(join(folder, version), { recursive: true });
    for (const [name, text] of Object.entries(content)) {
      await writeFile(join(folder, version, name), text);
      await symlink(join("..data", name), join(folder, name)).catch(() => {}); // it was there before
    }
    await symlink(version, join(folder, "..next"));
    await rename(join(folder, "..next"), join(folder, "..data"));
  }

  /** What a Secret holds, as files. */
  async mount(path: string, secret: string): Promise<void> {
    const { data = {} } = await this.#server.client.get(Secret, secret);
    const texts = Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]);
    await this.put(path, Object.fromEntries(texts));
  }

  context(args: readonly string[], signal: AbortSignal): ProgramContext {
    const { hostname, port } = new URL(this.#server.url);
    return {
      args,
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      resolve: (path) => (path.startsWith("/spoke") || path.startsWith(ACCOUNT) ? `${this.#root}${path}` : path),
      write: (line) => {
        this.lines.push(line);
      },
      ready: () => {
        this.readiness++;
      },
      signal,
    };
  }

  async remove(): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }
}
