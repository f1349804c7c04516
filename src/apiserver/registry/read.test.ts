import { describe, expect, it } from "vitest";
import { systemClock } from "#lib/clock";
import { ApiError } from "../errors.ts";
import { resource } from "../kinds/index.ts";
import { openStore } from "../store/index.ts";
import { list } from "./read.ts";
import type { RegistryDependencies } from "./target.ts";

const configMaps = resource({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const options = {
  limit: 2,
  continueToken: "",
  resourceVersion: undefined,
  match: "" as const,
  labelSelector: "",
  fieldSelector: "",
};

describe("a list in pages", () => {
  it("says 410 when its revision is forgotten, with a token for those who take the rest as it is now", async () => {
    const store = await openStore({ durability: "memory", history: { seconds: 0, least: 1, most: 2 } });
    const put = (name: string, n: number) =>
      store.write("core/configmaps", `default/${name}`, () => ({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { namespace: "default", name },
        data: { n: String(n) },
      }));
    for (const name of ["a", "b", "c", "d", "e"]) await put(name, 0);
    const dependencies = { store, clock: systemClock } as RegistryDependencies;
    const target = { resource: configMaps, namespace: "default" };

    const first = await list(dependencies, target, options);
    expect(first.items.map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
    for (let n = 1; n < 10; n++) await put("e", n);

    const error = await list(dependencies, target, { ...options, continueToken: first.continueToken ?? "" }).catch(
      (caught) => caught,
    );
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 410, status: { reason: "Expired" } });
    const rest = await list(dependencies, target, {
      ...options,
      limit: 0,
      continueToken: error.status.metadata.continue,
    });
    expect(rest.items.map(({ metadata, data }) => [metadata.name, (data as { n: string }).n])).toEqual([
      ["c", "0"],
      ["d", "0"],
      ["e", "9"],
    ]);
    await store.close();
  });
});
