/** What clients rely on in an API server, on any of them, over plain HTTPS. */
import { afterAll, beforeAll, describe } from "vitest";
import { type RawClient, rawClient } from "../support/raw.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { applySuite } from "./apiserver/apply.ts";
import { definitionsSuite } from "./apiserver/definitions.ts";
import { discoverySuite } from "./apiserver/discovery.ts";
import { formsSuite } from "./apiserver/forms.ts";
import { hostileSuite } from "./apiserver/hostile.ts";
import { identitySuite } from "./apiserver/identity.ts";
import { listsSuite } from "./apiserver/lists.ts";
import { namespacesSuite } from "./apiserver/namespaces.ts";
import { objectsSuite } from "./apiserver/objects.ts";
import { type Stage, stageOf } from "./apiserver/stage.ts";
import { watchesSuite } from "./apiserver/watches.ts";

export function apiserverSuite(start: StartServer): void {
  let server: TestServer;
  let admin: RawClient;
  let stage: Stage;

  beforeAll(async () => {
    server = await start("suite");
    admin = await rawClient(server);
    stage = stageOf(server, admin);
  }, 120_000);
  afterAll(async () => {
    admin?.close();
    await server?.close();
  }, 60_000);

  const staged = () => stage;
  describe("objects", () => objectsSuite(staged));
  describe("apply", () => applySuite(staged));
  describe("namespaces", () => namespacesSuite(staged));
  describe("lists", () => listsSuite(staged));
  describe("watches", () => watchesSuite(staged));
  describe("forms", () => formsSuite(staged));
  describe("discovery", () => discoverySuite(staged));
  describe("definitions", () => definitionsSuite(staged));
  describe("identity", () => identitySuite(staged));
  describe("hostile input", () => hostileSuite(staged));
}
