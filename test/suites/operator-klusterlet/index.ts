/** What must hold of the operator of a spoke on any API server. */
import { describe } from "vitest";
import type { StartServer } from "../../support/servers.ts";
import { defaultCases } from "./default.ts";
import { hostedCases } from "./hosted.ts";
import { joiningCases } from "./joining.ts";

export function klusterletSuite(start: StartServer): void {
  describe("agents on the cluster that they manage", () => defaultCases(start));
  describe("agents that manage another cluster", () => hostedCases(start));
  describe("agents with what the operator gives them", () => joiningCases(start));
}
