import { expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { type Client, KubeError } from "#kube";
import { placeWork } from "./works.ts";

const status = (code: number, message: string) => new KubeError("status", message, { code });

it("a work that a webhook of the hub refuses is told in one sentence, with what was done before", async () => {
  const created: string[] = [];
  const client = {
    server: "https://hub",
    list: async () => ({ items: ["a", "b"].map((name) => ({ ...ManagedCluster, metadata: { name } })) }),
    get: async () => Promise.reject(status(404, "not found")),
    create: async (_: unknown, { metadata }: { metadata: { namespace: string } }) => {
      if (metadata.namespace === "b") {
        throw status(400, 'admission webhook "w.example.com" denied the request: it is too large');
      }
      created.push(metadata.namespace);
    },
  } as unknown as Client;
  const task = { client, dryRun: false, signal: AbortSignal.timeout(10_000) };
  const place = (...clusters: string[]) => placeWork(task, { name: "w", clusters, manifests: [], overwrite: false });
  await expect(place("b")).rejects.toThrow("the hub refuses ManifestWork b/w: it is too large; nothing was changed");
  await expect(place("a", "b")).rejects.toThrow("it is too large; before it, a was served");
  expect(created).toEqual(["a"]);
});
