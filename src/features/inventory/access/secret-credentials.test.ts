import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Secret } from "#api/core";
import { type Client, KubeError, readingOf } from "#kube";
import { ManualClock, systemClock } from "#lib/clock";
import { eventually } from "../../../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../../../test/support/servers.ts";
import { SecretCredentials } from "./index.ts";

let hub: TestServer;
beforeAll(async () => {
  hub = await startEmbedded("hub");
});
afterAll(() => hub.close());

const key = "default/spoke-1";
const reading = readingOf("secretreader", { clusterName: "spoke-1" }, { namespace: "default" });
const tokenIn = (token: string) => ({ stringData: { token } });

beforeEach(async () => {
  await hub.client.delete(Secret, key).catch(() => {});
  await hub.client.create(Secret, { metadata: { name: "spoke-1", namespace: "default" }, ...tokenIn("one") });
});

interface Counted {
  client: Pick<Client, "get" | "list" | "watch" | "server">;
  gets: number;
  watches: number;
}

/** The hub, with a count of what it is asked. */
function counted(mayWatch = true): Counted {
  const { client } = hub;
  const count: Counted = {
    gets: 0,
    watches: 0,
    client: {
      server: client.server,
      get(kind, name, options) {
        count.gets++;
        return client.get(kind, name, options);
      },
      list: (kind, options) => client.list(kind, options),
      async watch(kind, options) {
        count.watches++;
        if (!mayWatch) throw new KubeError("status", "no", { code: 403, reason: "Forbidden" });
        return client.watch(kind, options);
      },
    },
  };
  return count;
}

describe("a token in a Secret on the hub", () => {
  it("is in use as soon as it is another, while somebody listens", async () => {
    const count = counted();
    const credentials = new SecretCredentials({ reading, client: count.client, clock: systemClock });
    const heard: (string | undefined)[] = [];
    const stop = credentials.onChange(({ token }) => heard.push(token));
    expect(await credentials.current()).toEqual({ token: "one" });
    await hub.client.patch(Secret, key, tokenIn("two"));
    await eventually(() => expect(heard).toEqual(["two"]));
    expect(await credentials.current()).toEqual({ token: "two" });
    expect(count.gets).toBeLessThanOrEqual(1);

    stop();
    await hub.client.patch(Secret, key, tokenIn("three"));
    expect(await credentials.refresh({ token: "two" })).toEqual({ token: "three" });
    expect(heard).toEqual(["two"]);
  });

  it("is gone as soon as its Secret is, and says so", async () => {
    const { client } = counted();
    const credentials = new SecretCredentials({ reading, client, clock: systemClock });
    const stop = credentials.onChange(() => {});
    await credentials.current();
    await hub.client.delete(Secret, key);
    await eventually(() =>
      expect(credentials.current()).rejects.toThrow(
        'failed to get secret default/spoke-1: secrets "spoke-1" not found',
      ),
    );
    stop();
  });

  it("is read again after a minute and after a refusal where it may only be read", async () => {
    const clock = new ManualClock();
    const count = counted(false);
    const credentials = new SecretCredentials({ reading, client: count.client, clock });
    const stop = credentials.onChange(() => {});
    expect(await credentials.current()).toEqual({ token: "one" });
    await hub.client.patch(Secret, key, tokenIn("two"));
    expect(await credentials.current()).toEqual({ token: "one" });
    expect(await credentials.refresh({ token: "one" })).toEqual({ token: "two" });
    await hub.client.patch(Secret, key, tokenIn("three"));
    clock.advance(60_000);
    expect(await credentials.current()).toEqual({ token: "three" });
    await eventually(() => expect(count.watches).toBe(1));
    clock.advance(3_600_000);
    expect(await credentials.refresh({ token: "three" })).toEqual({ token: "three" });
    expect(count.watches).toBe(1); // nobody asks for ever for what is forbidden
    stop();
  });

  it("is read once for all who wait, and a failure is not repeated at once", async () => {
    const clock = new ManualClock();
    const count = counted();
    const credentials = new SecretCredentials({ reading, client: count.client, clock });
    await Promise.all([1, 2, 3].map(() => credentials.current()));
    expect(count.gets).toBe(1);

    await hub.client.patch(Secret, key, { data: { token: null } });
    const ask = () => credentials.refresh({ token: "one" }).catch((error: Error) => error.message);
    expect(await ask()).toBe('secret default/spoke-1 missing "token" key');
    expect(await ask()).toBe('secret default/spoke-1 missing "token" key');
    expect(count.gets).toBe(2);
    await hub.client.patch(Secret, key, tokenIn("new"));
    clock.advance(1_000);
    expect(await credentials.refresh({ token: "one" })).toEqual({ token: "new" });
  });
});
