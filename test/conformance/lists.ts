/** Lists: which objects, in which order, how many at a time, and as of when. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Reply } from "../support/raw.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

export function listsSuite(stage: Staged): void {
  let space: string;
  const secrets = (query = "") => `${at(space, "secrets")}${query && `?${query}`}`;
  const names = ({ body }: Reply) => body.items.map(({ metadata }) => metadata.name);
  beforeAll(async () => {
    space = await stage().namespace();
    for (const name of ["s3", "s1", "s0", "s2", "s4"]) {
      const labels = {
        parity: Number(name[1]) % 2 === 0 ? "even" : "odd",
        ...(name === "s0" && { first: "" }),
        n: name[1],
      };
      await stage().admin.post(secrets(), {
        metadata: { name, labels },
        type: name === "s4" ? "example.com/x" : "Opaque",
      });
    }
  });

  it("crud.list: comes in the order of names, with the revision it was read at", async () => {
    const reply = await stage().admin.get(secrets());
    expect(names(reply)).toEqual(["s0", "s1", "s2", "s3", "s4"]);
    expect(reply.body).toMatchObject({ kind: "SecretList", apiVersion: "v1" });
    expect(Number(reply.body.metadata.resourceVersion)).toBeGreaterThan(0);
    expect(reply.body.items[0]).not.toHaveProperty("kind");
    const empty = await stage().admin.get(at(space, "pods"));
    expect(empty.body.items).toEqual([]);
  });

  describe("selectors", () => {
    it.each([
      ["labelSelector=parity%3Deven", ["s0", "s2", "s4"]],
      ["labelSelector=parity%3D%3Dodd", ["s1", "s3"]],
      ["labelSelector=parity!%3Deven", ["s1", "s3"]],
      ["labelSelector=nobody!%3Dx", ["s0", "s1", "s2", "s3", "s4"]],
      ["labelSelector=first", ["s0"]],
      ["labelSelector=!first", ["s1", "s2", "s3", "s4"]],
      ["labelSelector=first%3D", ["s0"]],
      ["labelSelector=n+in+(1,2)", ["s1", "s2"]],
      ["labelSelector=n+notin+(1,2),parity", ["s0", "s3", "s4"]],
      ["labelSelector=n%3E2", ["s3", "s4"]],
      ["labelSelector=n%3C2,parity%3Deven", ["s0"]],
      ["fieldSelector=metadata.name%3Ds1", ["s1"]],
      ["fieldSelector=metadata.name!%3Ds1", ["s0", "s2", "s3", "s4"]],
      ["fieldSelector=type%3Dexample.com/x", ["s4"]],
      ["fieldSelector=type%3DOpaque,metadata.name!%3Ds0&labelSelector=parity%3Deven", ["s2"]],
      ["fieldSelector=metadata.name%3Ds1,metadata.name%3Ds2", []],
    ])("selectors.match: %s", async (query, expected) => {
      expect(names(await stage().admin.get(secrets(query)))).toEqual(expected);
    });

    it.each([
      "labelSelector=a%3D%3D%3Db",
      "labelSelector=((",
      "labelSelector=a+in+b",
      "labelSelector=a,,b",
      "labelSelector=-a",
      "labelSelector=a%3Eb",
      `labelSelector=a%3D${"x".repeat(64)}`,
      "fieldSelector=foo%3Dbar",
      "fieldSelector=metadata.name",
      "fieldSelector=__proto__%3Dx",
    ])("selectors.refusals: refuses %s", async (query) => {
      expect(refusal(await stage().admin.get(secrets(query)))).toEqual(refused(400, "BadRequest"));
    });

    it("selectors.across-namespaces: selects across namespaces", async () => {
      const reply = await stage().admin.get(
        `/api/v1/secrets?fieldSelector=metadata.namespace%3D${space},metadata.name%3Ds2`,
      );
      expect(names(reply)).toEqual(["s2"]);
    });
  });

  describe("pages", () => {
    it("paging.fixed-revision: follow each other at one revision, whatever is written meanwhile", async () => {
      const { admin } = stage();
      const first = await admin.get(secrets("limit=2"));
      expect(names(first)).toEqual(["s0", "s1"]);
      expect(first.body.metadata.remainingItemCount).toBe(3);
      await admin.post(secrets(), { metadata: { name: "s2a" } });
      await admin.delete(at(space, "secrets", "s3"));
      const second = await admin.get(secrets(`limit=2&continue=${first.body.metadata.continue}`));
      expect(names(second)).toEqual(["s2", "s3"]);
      expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
      const third = await admin.get(secrets(`limit=2&continue=${second.body.metadata.continue}`));
      expect(names(third)).toEqual(["s4"]);
      expect(third.body.metadata.continue).toBeUndefined();
      expect(names(await admin.get(secrets()))).toEqual(["s0", "s1", "s2", "s2a", "s4"]);
    });

    it("paging.selected: count only what is selected, and then say nothing of the rest", async () => {
      const reply = await stage().admin.get(secrets("limit=1&labelSelector=parity%3Deven"));
      expect(names(reply)).toEqual(["s0"]);
      expect(reply.body.metadata.continue).toBeTruthy();
      expect(reply.body.metadata.remainingItemCount).toBeUndefined();
    });

    it("paging.limits: take any limit that is a number", async () => {
      expect(names(await stage().admin.get(secrets("limit=-1")))).toHaveLength(5);
      expect(names(await stage().admin.get(secrets("limit=0")))).toHaveLength(5);
      expect(refusal(await stage().admin.get(secrets("limit=abc")))).toEqual(refused(400, "BadRequest"));
    });

    it.each(["zzz", "e30", "%00", Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":5}').toString("base64url")])(
      "paging.bad-token: refuse the token %s",
      async (token) => {
        expect(refusal(await stage().admin.get(secrets(`limit=1&continue=${token}`)))).toEqual(
          refused(400, "BadRequest"),
        );
      },
    );

    it("paging.no-revision: do not go with a resourceVersion", async () => {
      const token = (await stage().admin.get(secrets("limit=1"))).body.metadata.continue;
      const reply = await stage().admin.get(secrets(`limit=1&resourceVersion=5&continue=${token}`));
      expect(refusal(reply)).toEqual(refused(400, "BadRequest"));
    });
  });

  describe("revisions", () => {
    it("revisions.exact: show the past exactly when asked to", async () => {
      const { admin } = stage();
      const before = (await admin.get(secrets())).body.metadata.resourceVersion;
      const { metadata } = (await admin.post(secrets(), { metadata: { generateName: "later-" } })).body;
      const exact = await admin.get(secrets(`resourceVersion=${before}&resourceVersionMatch=Exact`));
      expect(names(exact)).not.toContain(metadata.name);
      expect(exact.body.metadata.resourceVersion).toBe(before);
      const notOlder = `resourceVersion=${metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`;
      expect(names(await admin.get(secrets(notOlder)))).toContain(metadata.name);
      // Whoever asks for any revision may be shown an old one, but not for ever.
      await eventually(async () =>
        expect(names(await admin.get(secrets("resourceVersion=0")))).toContain(metadata.name),
      );
    });

    it.each([
      ["resourceVersion=abc", refused(400, "BadRequest")],
      ["timeoutSeconds=abc", refused(400, "BadRequest")],
      ["limit=99999999999999999999", refused(400, "BadRequest")],
      ["resourceVersion=-1", refused(400, "BadRequest")],
      ["resourceVersionMatch=Exact", refused(422, "Invalid", "resourceVersionMatch FieldValueForbidden")],
      ["resourceVersionMatch=NotOlderThan", refused(422, "Invalid", "resourceVersionMatch FieldValueForbidden")],
      [
        "resourceVersion=0&resourceVersionMatch=Exact",
        refused(422, "Invalid", "resourceVersionMatch FieldValueForbidden"),
      ],
      [
        "resourceVersion=0&resourceVersionMatch=Foo",
        refused(422, "Invalid", "resourceVersionMatch FieldValueNotSupported"),
      ],
      ["sendInitialEvents=true", refused(422, "Invalid", "sendInitialEvents FieldValueForbidden")],
    ])("revisions.refusals: refuse %s", async (query, expected) => {
      expect(refusal(await stage().admin.get(secrets(query)))).toEqual(expected);
    });

    it("revisions.single-object: of a single object are numbers as well", async () => {
      const reply = await stage().admin.get(`${at(space, "secrets", "s1")}?resourceVersion=abc`);
      expect(refusal(reply)).toEqual(refused(500, undefined));
    });

    it("revisions.future: of the future are waited for a moment, and then to be asked for again", async () => {
      const [list, get] = await Promise.all([
        stage().admin.get(secrets("resourceVersion=999999999")),
        stage().admin.get(`${at(space, "secrets", "s1")}?resourceVersion=999999999`),
      ]);
      for (const reply of [list, get]) {
        expect(refusal(reply)).toEqual(refused(504, "Timeout", "ResourceVersionTooLarge"));
        expect(reply.body.details?.retryAfterSeconds).toBe(1);
        expect(reply.headers["retry-after"]).toBe("1");
      }
    });
  });
}
