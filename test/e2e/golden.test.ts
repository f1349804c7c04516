/** The recordings of a real kube-apiserver, asked again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { certified, type RawClient, rawClient } from "../support/raw.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { DIFFERENCES } from "./golden/differences.ts";
import { normal, withoutProse } from "./golden/normal.ts";
import { PREPARATIONS, untilFurnished } from "./golden/preparations.ts";
import { missingRecordings, type Recording, readRecordings } from "./golden/recordings.ts";
import { createReplay, type Replay, type Replayed } from "./golden/replay.ts";

const missing = missingRecordings();
const sections = readRecordings();
const accepted = new Map(DIFFERENCES.map((difference) => [difference.at, difference]));

describe.skipIf(missing)(`recordings of a real server${missing ? ` (${missing})` : ""}`, () => {
  describe.each([...sections])("%s", (section, recordings) => {
    let server: TestServer;
    let admin: RawClient;
    let replay: Replay;

    beforeAll(async () => {
      server = await startEmbedded("golden");
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
        if (!difference) expect(ours).toEqual(theirs);
        else if (!difference.sometimes) {
          expect(ours, "this difference is gone: remove it from the table").not.toEqual(theirs);
        }
      };
      // Reads were recorded when controllers had done their part; writes have their answer at once.
      await (recording.method === "GET" ? eventually(look, 2_000) : look());
    });
  });
});

function compared(
  { status, response, events, responseContentType, retryAfter, warning }: Recording,
  replayed: Replayed,
) {
  if (replayed.events) return { ours: comparable(replayed.events), theirs: comparable(events) };
  const { reply } = replayed;
  const isText =
    typeof response === "string" && reply?.headers["content-type"]?.startsWith("application/json") === false;
  const isOmitted = typeof response === "string" && response.startsWith("[omitted");
  return {
    ours: {
      status: reply?.code,
      type: reply?.headers["content-type"],
      retryAfter: reply?.headers["retry-after"],
      warned: reply?.headers.warning !== undefined,
      body: isOmitted ? "" : isText ? reply?.text : comparable(reply?.body),
    },
    theirs: {
      status,
      type: responseContentType,
      retryAfter: retryAfter ?? undefined,
      warned: Boolean(warning),
      body: isOmitted ? "" : isText ? response : comparable(response),
    },
  };
}

function comparable(value: unknown): unknown {
  return withoutProse(normal(value));
}
