/** Rules in CEL (`x-kubernetes-validations`) that a definition puts on its objects. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body, Reply } from "../support/raw.ts";
import { inGroup, refusal, refused, type Staged } from "./stage.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = `r${randomBytes(3).toString("hex")}.example.com`;

type Schema = Record<string, unknown>;
const text = { type: "string", maxLength: 100 };
const integer = { type: "integer" };
const fields = (properties: Record<string, Schema>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});
const rules = (...all: (string | Schema)[]): Schema => ({
  "x-kubernetes-validations": all.map((rule) => (typeof rule === "string" ? { rule } : rule)),
});
const root = (spec: Schema, more: Schema = {}): Schema => fields({ spec, status: fields({ phase: text }) }, more);

/** Everything that objects are judged by here, each part under a field of its own. */
const SPEC = fields({
  low: integer,
  high: integer,
  ordered: fields(
    { low: integer, high: integer },
    rules({ rule: "self.low <= self.high", message: "low before high" }),
  ),
  even: { ...integer, ...rules("self % 2 == 0") },
  told: {
    ...text,
    ...rules({ rule: "self != 'no'", messageExpression: "'not ' + self", reason: "FieldValueForbidden" }),
  },
  pointed: fields({ at: text }, rules({ rule: "self.at != 'no'", fieldPath: ".at", reason: "FieldValueDuplicate" })),
  fixed: { ...text, ...rules({ rule: "self == oldSelf", message: "for good" }) },
  growing: {
    ...integer,
    ...rules({ rule: "!oldSelf.hasValue() || self >= oldSelf.value()", optionalOldSelf: true, message: "grows" }),
  },
  parts: {
    type: "array",
    maxItems: 10,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: fields({ name: text, size: integer }, { required: ["name"], ...rules("!has(self.size) || self.size > 0") }),
    ...rules("self.all(part, self.exists_one(other, other.name == part.name))"),
  },
  labels: { type: "object", maxProperties: 10, additionalProperties: { ...text, ...rules("self.size() < 5") } },
  "with-dash": text,
  namespace: text,
  address: { ...text, ...rules("isIP(self) && cidr('10.0.0.0/8').containsIP(self)") },
  amount: { ...text, ...rules("quantity(self).isLessThan(quantity('1Gi'))") },
  when: { type: "string", format: "date-time", ...rules("self < timestamp('2030-01-01T00:00:00Z')") },
});

export function celRulesSuite(stage: Staged): void {
  let space: string;
  const things = (name?: string) => inGroup(GROUP, "v1", "things", space, name);
  const definition = (plural: string, kind: string, schema: Schema) => ({
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        { name: "v1", served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema: schema } },
      ],
    },
  });
  const thing = (name: string, spec: object, more: object = {}) => ({
    apiVersion: `${GROUP}/v1`,
    kind: "Thing",
    metadata: { name },
    spec,
    ...more,
  });
  const post = (name: string, spec: object): Promise<Reply> => stage().admin.post(things(), thing(name, spec));
  const made = async (name: string, spec: object): Promise<Body> => {
    const { code, body } = await post(name, spec);
    expect([code, body.message]).toEqual([201, undefined]);
    return body;
  };
  const change = (name: string, spec: object): Promise<Reply> => stage().admin.patch(things(name), { spec });
  const invalid = (...causes: string[]) => refused(422, "Invalid", ...causes);

  beforeAll(async () => {
    space = await stage().namespace();
    const schema = root(SPEC, rules({ rule: "self.metadata.name != 'forbidden'", message: "another name" }));
    const { code, body } = await stage().admin.post(DEFINITIONS, definition("things", "Thing", schema));
    expect([code, body.message]).toEqual([201, undefined]);
    await eventually(async () => expect([201, 409]).toContain((await post("ready", {})).code));
  });
  afterAll(async () => {
    await stage().admin.delete(`${DEFINITIONS}/things.${GROUP}`);
  });

  describe("objects", () => {
    it.each([
      ["fields that contradict each other", { ordered: { low: 2, high: 1 } }, "spec.ordered FieldValueInvalid"],
      ["a value", { even: 3 }, "spec.even FieldValueInvalid"],
      ["a value, with a reason", { told: "no" }, "spec.told FieldValueForbidden"],
      ["a field below, with a path and a reason", { pointed: { at: "no" } }, "spec.pointed.at FieldValueDuplicate"],
      ["an item", { parts: [{ name: "a" }, { name: "b", size: 0 }] }, "spec.parts[1] FieldValueInvalid"],
      ["a value of a map", { labels: { long: "longer" } }, "spec.labels[long] FieldValueInvalid"],
      ["an address", { address: "192.168.0.1" }, "spec.address FieldValueInvalid"],
      ["a quantity", { amount: "2Gi" }, "spec.amount FieldValueInvalid"],
      ["a time", { when: "2031-01-01T00:00:00Z" }, "spec.when FieldValueInvalid"],
    ])("cel-rules.create: are refused for %s", async (_, spec, cause) => {
      expect(refusal(await post("bad", spec))).toEqual(invalid(cause));
    });

    it("cel-rules.accepted: are accepted when they keep all rules, and where there is nothing to judge", async () => {
      await made("fine", {
        ordered: { low: 1, high: 1 },
        even: 2,
        told: "yes",
        parts: [{ name: "a", size: 1 }, { name: "b" }],
        labels: { a: "b" },
        address: "10.1.2.3",
        amount: "500Mi",
        when: "2029-12-31T23:59:59Z",
        fixed: "new objects have no past",
      });
    });

    it("cel-rules.several: are told of all rules that they break", async () => {
      const { body, ...reply } = await post("bad", { even: 3, told: "no", ordered: { low: 2, high: 1 } });
      expect(refusal({ ...reply, body })).toEqual(
        invalid("spec.even FieldValueInvalid", "spec.ordered FieldValueInvalid", "spec.told FieldValueForbidden"),
      );
      expect(body.message).toContain("low before high");
      expect(body.message).toContain("not no");
      expect(body.message).toContain("failed rule: self % 2 == 0");
    });

    it("cel-rules.root: may be refused for their name", async () => {
      const reply = await post("forbidden", {});
      expect(refusal(reply)).toMatchObject({ code: 422, reason: "Invalid" });
      expect(reply.body.message).toContain("another name");
    });

    it("cel-rules.schema-first: are not judged by rules where the schema refuses them already", async () => {
      expect(refusal(await post("bad", { ordered: { low: "x", high: 1 } }))).toEqual(
        invalid("<nil> FieldValueInvalid", "spec.ordered.low FieldValueTypeInvalid"),
      );
    });
  });

  describe("changes", () => {
    it("cel-rules.transition: are judged by what was before, also when they come as a patch of any kind", async () => {
      await made("steady", { fixed: "a" });
      const cause = invalid("spec.fixed FieldValueInvalid");
      expect(refusal(await change("steady", { fixed: "b" }))).toEqual(cause);
      const operations = [{ op: "replace", path: "/spec/fixed", value: "b" }];
      expect(refusal(await stage().admin.patch(things("steady"), operations, "json"))).toEqual(cause);
      const applied = await stage().admin.patch(
        `${things("steady")}?fieldManager=me&force=true`,
        thing("steady", { fixed: "b" }),
        "apply",
      );
      expect(refusal(applied)).toEqual(cause);
      expect((await change("steady", { fixed: "a", low: 1 })).code).toBe(200);
      expect((await change("steady", { fixed: null })).code).toBe(200);
      expect((await change("steady", { fixed: "anything" })).code).toBe(200);
    });

    it("cel-rules.optional-old: may be judged from the first value on", async () => {
      await made("rising", { growing: 5 });
      expect((await change("rising", { growing: 6 })).code).toBe(200);
      expect(refusal(await change("rising", { growing: 4 }))).toEqual(invalid("spec.growing FieldValueInvalid"));
    });

    it("cel-rules.status: are judged through /status as well", async () => {
      await made("reported", { even: 2 });
      const reply = await stage().admin.patch(`${things("reported")}/status`, {
        status: { phase: "x" },
        spec: { even: 3 },
      });
      expect(reply.code).toBe(200);
      expect(reply.body).toMatchObject({ spec: { even: 2 }, status: { phase: "x" } });
    });
  });

  describe("rules that come later", () => {
    it("cel-rules.ratcheting: spare what was wrong before and is not touched", { timeout: 60_000 }, async () => {
      const plural = "olds";
      const olds = (name?: string) => inGroup(GROUP, "v1", plural, space, name);
      const path = `${DEFINITIONS}/${plural}.${GROUP}`;
      const schema = (strict: boolean) =>
        root(
          fields({
            level: { ...integer, ...(strict && rules({ rule: "self < 10", message: "too high" })) },
            list: { type: "array", maxItems: 5, items: { ...integer, ...(strict && rules("self < 10")) } },
            other: text,
          }),
        );
      await stage().admin.post(DEFINITIONS, definition(plural, "Old", schema(false)));
      const old = {
        apiVersion: `${GROUP}/v1`,
        kind: "Old",
        metadata: { name: "old" },
        spec: { level: 50, list: [50] },
      };
      await eventually(async () => expect([201, 409]).toContain((await stage().admin.post(olds(), old)).code));
      const { body: current } = await stage().admin.get(path);
      await stage().admin.put(path, { ...definition(plural, "Old", schema(true)), metadata: current.metadata });
      const fresh = { ...old, metadata: { generateName: "new-" } };
      await eventually(async () =>
        expect(refusal(await stage().admin.post(`${olds()}?dryRun=All`, fresh))).toEqual(
          invalid("spec.level FieldValueInvalid", "spec.list[0] FieldValueInvalid"),
        ),
      );

      const patched = (spec: object) => stage().admin.patch(olds("old"), { spec });
      expect((await patched({ other: "x" })).code).toBe(200);
      expect(refusal(await patched({ level: 51 }))).toEqual(invalid("spec.level FieldValueInvalid"));
      expect((await patched({ level: 9 })).code).toBe(200);
      await stage().admin.delete(path);
    });
  });

  describe("definitions", () => {
    const AT = "spec.validation.openAPIV3Schema.properties[spec]";
    const judged = async (spec: Schema): Promise<ReturnType<typeof refusal>> => {
      const reply = await stage().admin.post(`${DEFINITIONS}?dryRun=All`, definition("wrongs", "Wrong", root(spec)));
      return refusal(reply);
    };

    it.each([
      ["no CEL", fields({ a: text }, rules("self.a ==")), "rule FieldValueInvalid"],
      ["about a field that is not there", fields({ a: text }, rules("self.b == 'x'")), "rule FieldValueInvalid"],
      ["of two types", fields({ a: text }, rules("self.a == 1")), "rule FieldValueInvalid"],
      ["that says neither yes nor no", fields({ a: text }, rules("self.a")), "rule FieldValueInvalid"],
      ["empty", fields({ a: text }, rules("")), "rule FieldValueRequired"],
      [
        "with a message that is none",
        fields({ a: text }, rules({ rule: "self.a != 'x'", messageExpression: "1 + 1" })),
        "messageExpression FieldValueInvalid",
      ],
      [
        "with a path to nowhere",
        fields({ a: text }, rules({ rule: "self.a != 'x'", fieldPath: ".b" })),
        "fieldPath FieldValueInvalid",
      ],
      [
        "with an unknown reason",
        fields({ a: text }, rules({ rule: "self.a != 'x'", reason: "Odd" })),
        "reason FieldValueNotSupported",
      ],
    ])("cel-rules.definition-refusals: are refused with a rule %s", async (_, spec, cause) => {
      expect(await judged(spec)).toEqual(invalid(`${AT}.x-kubernetes-validations[0].${cause}`));
    });

    it("cel-rules.cost: are refused with a rule that may take too long", async () => {
      const unbounded = { type: "array", items: { type: "string" } };
      const spec = fields({
        list: { ...unbounded, ...rules("self.all(x, self.all(y, x == y || x.contains(y)))") },
      });
      const { code, causes } = await judged(spec);
      expect(code).toBe(422);
      expect(causes).toContain(`${AT}.properties[list].x-kubernetes-validations[0].rule FieldValueForbidden`);
      const bounded = { type: "array", maxItems: 5, items: { type: "string", maxLength: 10 } };
      const fine = fields({ list: { ...bounded, ...rules("self.all(x, self.all(y, x == y || x.contains(y)))") } });
      expect((await judged(fine)).code).toBe(201);
    });

    it("cel-rules.transition-place: are refused with a rule about the past of what has none", async () => {
      const list = { type: "array", maxItems: 5, items: { ...integer, ...rules("self == oldSelf") } };
      expect(await judged(fields({ list }))).toEqual(
        invalid(`${AT}.properties[list].items.x-kubernetes-validations[0].rule FieldValueInvalid`),
      );
    });
  });

  it("cel-rules.names: reach fields whose names are no identifiers", async () => {
    const spec = fields(
      { "with-dash": text, namespace: text },
      rules(
        "!has(self.with__dash__dash) || self.with__dash__dash == 'x'",
        "!has(self.__namespace__) || self.__namespace__ == 'x'",
      ),
    );
    const reply = await stage().admin.post(`${DEFINITIONS}?dryRun=All`, definition("dashes", "Dash", root(spec)));
    expect([reply.code, reply.body.message]).toEqual([201, undefined]);
  });
}
