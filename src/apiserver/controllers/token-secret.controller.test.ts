import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { generateKeyPair, tokenSigningKey } from "#lib/pki";
import { createAuthenticator, TokenSecret } from "../auth/index.ts";
import { openStore } from "../store/index.ts";
import type { SystemWriter } from "./system.ts";
import { tokenSecretController } from "./token-secret.controller.ts";
import { tokenUseDays } from "./token-use-days.ts";

const SECRETS = "core/secrets";
const ACCOUNTS = "core/serviceaccounts";
const ISSUER = "https://kubernetes.default.svc";
const key = tokenSigningKey(generateKeyPair().privateKey);

const account: DynamicObject = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { namespace: "fleet", name: "agent", uid: "sa-1" },
};

function secret(annotations: Record<string, string> = {}, more: Record<string, unknown> = {}): DynamicObject {
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: TokenSecret.type,
    metadata: {
      namespace: "fleet",
      name: "agent-token",
      uid: "secret-1",
      annotations: { [TokenSecret.accountName]: "agent", ...annotations },
    },
    ...more,
  };
}

async function scene(...objects: DynamicObject[]) {
  const store = await openStore({ durability: "memory" });
  let writes = 0;
  const writer: Pick<SystemWriter, "change" | "remove"> = {
    async change(storage, at, change) {
      writes++;
      await store.write(storage, at, (current) => current && change(structuredClone(current)));
    },
    async remove(storage, { metadata }) {
      await store.write(storage, `${metadata.namespace}/${metadata.name}`, () => undefined);
    },
  };
  const put = (object: DynamicObject) =>
    store.write(object.kind === "Secret" ? SECRETS : ACCOUNTS, `fleet/${object.metadata.name}`, () => object);
  for (const object of objects) await put(object);
  const clock = new ManualClock("2026-06-01T12:00:00Z");
  const days = tokenUseDays({ writer, clock, log: silentLog });
  const authenticator = createAuthenticator({
    reader: store,
    clientCas: [],
    serviceAccountKeys: [key],
    issuer: ISSUER,
    audiences: [ISSUER],
    onSecretUsed: (used) => days.record(used),
    clock,
  });
  const controller = tokenSecretController({ store, writer: writer as SystemWriter, key, authorityPem: "PEM" });
  const current = () => store.get(SECRETS, "fleet/agent-token");
  const token = () => text((current()?.data as Record<string, string> | undefined)?.token);
  const reconcile = () => controller.reconcile("fleet/agent-token");
  return { store, put, clock, days, authenticator, controller, reconcile, current, token, writes: () => writes };
}

const text = (base64 = "") => Buffer.from(base64, "base64").toString();

describe("a Secret for the token of a service account", () => {
  it("gets token, authority, namespace and the account's uid, and nothing the second time", async () => {
    const { reconcile, current, writes } = await scene(account, secret());
    await reconcile();
    const data = current()?.data as Record<string, string>;
    expect([text(data["ca.crt"]), text(data.namespace)]).toEqual(["PEM", "fleet"]);
    expect(current()?.metadata.annotations).toMatchObject({ [TokenSecret.accountUid]: "sa-1" });
    await reconcile();
    expect(writes()).toBe(1);
  });

  it("is left alone when it is of another type", async () => {
    const { controller, reconcile, current, writes } = await scene(secret({}, { type: "Opaque" }));
    const object = current();
    expect(object && controller.keysOf({ type: "ADDED", resource: SECRETS, key: "k", object })).toEqual([]);
    await reconcile();
    expect([writes(), current()]).toEqual([0, object]);
  });

  it.each([
    ["there is no account", [secret()]],
    ["the account is another one of the same name", [account, secret({ [TokenSecret.accountUid]: "sa-0" })]],
  ])("is deleted when %s", async (_, objects) => {
    const { reconcile, current } = await scene(...objects);
    await reconcile();
    expect(current()).toBeUndefined();
  });

  it("is looked at when its account changes", async () => {
    const { controller } = await scene(account, secret());
    const event = { type: "DELETED", resource: ACCOUNTS, key: "fleet/agent", object: account } as const;
    expect(controller.keysOf(event)).toEqual(["fleet/agent-token"]);
  });
});

describe("the token in a Secret", () => {
  it("stands for the account, without end, and only at this server", async () => {
    const { reconcile, token, authenticator, clock } = await scene(account, secret());
    await reconcile();
    clock.advance(10 * 365 * 86_400_000);
    expect(await authenticator.authenticate({ bearerToken: token() })).toEqual({
      username: "system:serviceaccount:fleet:agent",
      uid: "sa-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:fleet", "system:authenticated"],
    });
    expect(await authenticator.reviewToken(token(), ["elsewhere"])).toEqual({ error: "invalid bearer token" });
  });

  it.each<[string, (at: Awaited<ReturnType<typeof scene>>) => Promise<unknown>]>([
    ["the Secret is deleted", ({ store }) => store.write(SECRETS, "fleet/agent-token", () => undefined)],
    ["the Secret holds another token", ({ put }) => put(secret({}, { data: { token: "eA==" } }))],
    ["the account is deleted", ({ store }) => store.write(ACCOUNTS, "fleet/agent", () => undefined)],
    ["the account is a new one", ({ put }) => put({ ...account, metadata: { ...account.metadata, uid: "sa-2" } })],
    [
      "the Secret is marked as invalid",
      ({ put, current }) => {
        const { metadata, data } = current() ?? secret();
        const labels = { [TokenSecret.invalidSince]: "2026-06-01" };
        return put({ ...secret({}, { data }), metadata: { ...metadata, labels } });
      },
    ],
  ])("is worth nothing once %s", async (_, change) => {
    const at = await scene(account, secret());
    await at.reconcile();
    const bearerToken = at.token();
    expect(await at.authenticator.authenticate({ bearerToken })).toMatchObject({ uid: "sa-1" });
    await at.days.written();
    await change(at);
    expect(await at.authenticator.authenticate({ bearerToken })).toBe("invalid");
  });

  it("leaves the day of its use on the Secret, once a day", async () => {
    const { reconcile, token, authenticator, days, current, writes } = await scene(account, secret());
    await reconcile();
    for (let use = 0; use < 3; use++) {
      await authenticator.authenticate({ bearerToken: token() });
      await days.written();
    }
    expect(current()?.metadata.labels).toEqual({ [TokenSecret.lastUsed]: "2026-06-01" });
    expect(writes()).toBe(2);
  });
});
