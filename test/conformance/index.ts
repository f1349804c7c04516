/**
 * What clients rely on in an API server, on any of them, over plain HTTPS: all that the suite knows of a server
 * is a kubeconfig of its administrator. The name of a case opens with its id, `area.behaviour`, which stays when the
 * sentence after it changes; `npm run docs:conformance` makes a table of the areas.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { applySuite } from "./apply.ts";
import { definitionsSuite } from "./definitions.ts";
import { discoverySuite } from "./discovery.ts";
import { formsSuite } from "./forms.ts";
import { hostileSuite } from "./hostile.ts";
import { identitySuite } from "./identity.ts";
import { lawsSuite } from "./laws.ts";
import { listsSuite } from "./lists.ts";
import { namespacesSuite } from "./namespaces.ts";
import { objectsSuite } from "./objects.ts";
import { patchesSuite } from "./patches.ts";
import { type ServerUnderTest, type Stage, stageOf } from "./stage.ts";
import { watchesSuite } from "./watches.ts";

export function conformanceSuite(start: (name: string) => Promise<ServerUnderTest>): void {
  let server: ServerUnderTest | undefined;
  let stage: Stage;

  beforeAll(async () => {
    server = await start("suite");
    stage = await stageOf(server.kubeconfig);
  }, 120_000);
  afterAll(async () => {
    stage?.admin.close();
    await server?.close();
  }, 60_000);

  const staged = () => stage;
  describe("objects", () => objectsSuite(staged));
  describe("patches", () => patchesSuite(staged));
  describe("apply", () => applySuite(staged));
  describe("namespaces", () => namespacesSuite(staged));
  describe("lists", () => listsSuite(staged));
  describe("watches", () => watchesSuite(staged));
  describe("laws", () => lawsSuite(staged));
  describe("forms", () => formsSuite(staged));
  describe("discovery", () => discoverySuite(staged));
  describe("definitions", () => definitionsSuite(staged));
  describe("identity", () => identitySuite(staged));
  describe("hostile input", () => hostileSuite(staged));
}
