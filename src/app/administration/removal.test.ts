import { expect, it } from "vitest";
import { clusterManagerInstallation } from "#features/operator/cluster-manager";
import { klusterletInstallation } from "#features/operator/klusterlet";
import { kindOfInstalled } from "./removal.ts";

it("knows how to remove everything that is installed", () => {
  const installed = [...clusterManagerInstallation({ image: "x" }), ...klusterletInstallation({ image: "x" })];
  expect(installed.length).toBeGreaterThan(8);
  for (const object of installed) {
    const kind = kindOfInstalled(object);
    expect([kind.kind, kind.namespaced]).toEqual([object.kind, object.metadata.namespace !== undefined]);
  }
});
