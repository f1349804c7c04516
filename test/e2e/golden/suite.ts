/** The recordings of a real kube-apiserver, asked again of some server. */
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { certified, type RawClient, rawClient } from "../../support/raw.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { compared } from "./comparison.ts";
import type { Difference } from "./differences.ts";
import { PREPARATIONS, untilFurnished } from "./preparations.ts";
import { readRecordings } from "./recordings.ts";
import { createReplay, type Replay } from "./replay.ts";

/** Every section gets a server of its own; nothing but `differences` may differ. */
export function goldenSuite(start: StartServer, differences: readonly Difference[]): void {
  const sections = readRecordings();
  const accepted = new Map(differences.flatMap((difference) => difference.at.map((at) => [at, difference])));

  describe.each([...sections])("%s", (section, recordings) => {
    let server: TestServer;
    let admin: RawClient;
    let replay: Replay;

    beforeAll(async () => {
      server = await start("golden");
      admin = await rawClient(server);
      await untilFurnished(admin);
      replay = createReplay(admin, await certified(admin, "alice", ["devs"]));
      const { before, after = [] } = PREPARATIONS[section] ?? {};
      await before?.(admin, recordings);
      for (const earlier of after) {
        for (const recording of sections.get(earlier) ?? []) await replay.ask(recording);
      }
    });
    afterAll(async () => {
      admin?.close();
      await server?.close();
    });

    it.each(recordings)("$id $method $path", async (recording) => {
      const look = async () => {
        const { ours, theirs } = compared(recording, await replay.ask(recording));
        const difference = accepted.get(recording.id);
        if (!difference) return expect(ours).toEqual(theirs);
        const { apart, sometimes } = difference;
        if (apart) expect(apart(ours)).toEqual(apart(theirs));
        if (!sometimes) {
          const isGone = isDeepStrictEqual(ours, theirs);
          expect(isGone, "this difference is gone: remove it from the table").toBe(false);
        }
      };
      // Reads were recorded when controllers had done their part; writes have their answer at once.
      await (recording.method === "GET" ? eventually(look) : look());
    });
  });
}
