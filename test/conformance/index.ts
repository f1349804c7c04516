/**
 * What clients rely on in an API server, on any of them, over plain HTTPS: all that the suite knows of a server
 * is a kubeconfig of its administrator. The name of a case opens with its id, `area.behaviour`, which stays when the
 * sentence after it changes; `npm run docs:conformance` makes a table of the areas.
 */
import { afterAll, beforeAll, describe } from "vitest";
import { admissionAnswersSuite } from "./admission-answers.ts";
import { admissionWebhooksSuite } from "./admission-webhooks.ts";
import { applySuite } from "./apply.ts";
import { celRulesSuite } from "./cel-rules.ts";
import { collectionsSuite } from "./collections.ts";
import { conversionWebhooksSuite } from "./conversion-webhooks.ts";
import { cronJobsSuite } from "./cron-jobs.ts";
import { daemonSetsSuite } from "./daemon-sets.ts";
import { definitionsSuite } from "./definitions.ts";
import { deploymentsSuite } from "./deployments.ts";
import { discoverySuite } from "./discovery.ts";
import { disruptionSuite } from "./disruption.ts";
import { endpointsSuite } from "./endpoints.ts";
import { endpointSlicesSuite } from "./endpointslices.ts";
import { expirySuite } from "./expiry.ts";
import { fieldValidationSuite } from "./field-validation.ts";
import { formsSuite } from "./forms.ts";
import { garbageCollectionSuite } from "./garbage-collection.ts";
import { hostileSuite } from "./hostile.ts";
import { identitySuite } from "./identity.ts";
import { jobsSuite } from "./jobs.ts";
import { lawsSuite } from "./laws.ts";
import { listsSuite } from "./lists.ts";
import { namespacesSuite } from "./namespaces.ts";
import { nodesSuite } from "./nodes.ts";
import { objectsSuite } from "./objects.ts";
import { pagesSuite } from "./pages.ts";
import { patchesSuite } from "./patches.ts";
import { replicaSetsSuite } from "./replica-sets.ts";
import { replicationControllersSuite } from "./replication-controllers.ts";
import { servicesSuite } from "./services.ts";
import { NODES, type ServerUnderTest, type Stage, stageOf } from "./stage.ts";
import { statefulSetsSuite } from "./stateful-sets.ts";
import { subresourcesSuite } from "./subresources.ts";
import { watchesSuite } from "./watches.ts";
import { webhookConfigurationsSuite } from "./webhook-configurations.ts";

export function conformanceSuite(
  start: (name: string, options: { nodes: typeof NODES }) => Promise<ServerUnderTest>,
): void {
  let server: ServerUnderTest | undefined;
  let stage: Stage;

  beforeAll(async () => {
    server = await start("suite", { nodes: NODES });
    stage = await stageOf(server);
  }, 120_000);
  afterAll(async () => {
    stage?.admin.close();
    await server?.close();
  }, 60_000);

  const staged = () => stage;
  describe("objects", () => objectsSuite(staged));
  describe("nodes", () => nodesSuite(staged));
  describe("subresources", () => subresourcesSuite(staged));
  describe("collections", () => collectionsSuite(staged));
  describe("field validation", () => fieldValidationSuite(staged));
  describe("patches", () => patchesSuite(staged));
  describe("apply", () => applySuite(staged));
  describe("namespaces", () => namespacesSuite(staged));
  describe("garbage collection", () => garbageCollectionSuite(staged));
  describe("expiry", () => expirySuite(staged));
  describe("lists", () => listsSuite(staged));
  describe("watches", () => watchesSuite(staged));
  describe("laws", () => lawsSuite(staged));
  describe("forms", () => formsSuite(staged));
  describe("discovery", () => discoverySuite(staged));
  describe("pages", () => pagesSuite(staged));
  describe("definitions", () => definitionsSuite(staged));
  describe("rules in CEL", () => celRulesSuite(staged));
  describe("conversion webhooks", () => conversionWebhooksSuite(staged));
  describe("webhook configurations", () => webhookConfigurationsSuite(staged));
  describe("admission webhooks", () => admissionWebhooksSuite(staged));
  describe("answers of admission webhooks", () => admissionAnswersSuite(staged));
  describe("identity", () => identitySuite(staged));
  describe("deployments", () => deploymentsSuite(staged));
  describe("replica sets", () => replicaSetsSuite(staged));
  describe("replication controllers", () => replicationControllersSuite(staged));
  describe("stateful sets", () => statefulSetsSuite(staged));
  describe("daemon sets", () => daemonSetsSuite(staged));
  describe("jobs", () => jobsSuite(staged));
  describe("cron jobs", () => cronJobsSuite(staged));
  describe("services", () => servicesSuite(staged));
  describe("endpoints", () => endpointsSuite(staged));
  describe("endpoint slices", () => endpointSlicesSuite(staged));
  describe("disruption", () => disruptionSuite(staged));
  describe("hostile input", () => hostileSuite(staged));
}
