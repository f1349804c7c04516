/** A release as people install it: definitions twice, webhooks, and objects that they judge, in one go. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { startNodes } from "#app";
import { type ApplyReport, connectionOf, createClient, readManifests } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type ApplyStage, reasonsIn, writesIn } from "./stage.ts";

const RELEASE = fileURLToPath(new URL("../../../../shared/upstream/knative/knative-serving/1.23.0", import.meta.url));
// The jobs of the release have no names of their own; whoever applies them gives them some.
const FILES = ["1-serving-crds.yaml", "2-serving-core.yaml", "3-serving-hpa.yaml"].map((file) => `${RELEASE}/${file}`);

function missingRelease(): string | undefined {
  if (existsSync(RELEASE)) return undefined;
  const why = `${RELEASE} is missing`;
  if (process.env.CAPSTAN_REQUIRE?.split(",").includes("shared")) throw new Error(why);
  return why;
}

/** `simulates`: webhooks of simulated Pods allow here; on a real server nobody would answer for them. */
export function knativeCases(stage: () => ApplyStage, { simulates }: { simulates: boolean }): void {
  const missing = missingRelease();

  describe.skipIf(missing)(`a release of Knative Serving${missing ? ` (${missing})` : ""}`, () => {
    const guarded = ["Certificate knative-serving/routing-serving-certs"];
    const registrations = [
      "MutatingWebhookConfiguration webhook.serving.knative.dev",
      "ValidatingWebhookConfiguration config.webhook.serving.knative.dev",
      "ValidatingWebhookConfiguration validation.webhook.serving.knative.dev",
    ];

    it("goes in but for what needs the webhook, for as long as its Pods do not run", async () => {
      const wishes = await readManifests(FILES);
      const first = await stage().engine({ fieldValidation: "Strict" }).apply({ wishes }, { patience: 5_000 });
      const waiting = [...registrations, ...guarded].sort();
      expect(openIn(first)).toEqual(waiting);

      let again: ApplyReport | undefined;
      const requests = await stage().requestsOf(async (client) => {
        again = await stage().engine({ client, fieldValidation: "Strict" }).apply({ wishes });
      });
      expect(again && openIn(again)).toEqual(waiting);
      expect(writesIn(requests)).toEqual([]);
    }, 120_000);

    it.skipIf(!simulates)(
      "is whole when they run, and a second apply writes nothing",
      async () => {
        const wishes = await readManifests(FILES);
        const connection = await connectionOf(stage().server.kubeconfig);
        const client = createClient({ connection });
        const nodes = startNodes({ client, names: ["node-1"], version: "0.0.0", clock: systemClock, log: silentLog });
        try {
          await nodes.registered;
          const report = await stage().engine({ fieldValidation: "Strict" }).apply({ wishes }, { patience: 60_000 });
          expect(openIn(report)).toEqual([]);
          expect(report.complete).toBe(true);
          const requests = await stage().requestsOf(async (counted) => {
            const second = await stage().engine({ client: counted, fieldValidation: "Strict" }).apply({ wishes });
            expect(new Set(second.objects.map(({ action }) => action))).toEqual(new Set(["unchanged"]));
          });
          expect(writesIn(requests)).toEqual([]);
        } finally {
          await nodes.stop();
        }
      },
      120_000,
    );
  });
}

/** What is not in place. */
function openIn(report: ApplyReport): string[] {
  return Object.entries(reasonsIn(report))
    .filter(([, reason]) => !/^(created|unchanged)/.test(reason))
    .map(([name]) => name)
    .sort();
}
