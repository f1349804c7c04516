/** Laws of lists and watches that hold for whatever is asked: random requests, beside a model of a few lines. */
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body, RawWatch } from "../support/raw.ts";
import { at, type Staged } from "./stage.ts";

type Labels = Readonly<Record<string, string>>;

/** One object for each way to carry two labels, in the order of their names. */
const OBJECTS = [undefined, "", "x", "1"]
  .flatMap((a) => [undefined, "x", "2", "10"].map((b) => labelsOf({ a, b })))
  .map((labels, index) => ({ name: `o-${String(index).padStart(2, "0")}`, labels }));

interface Requirement {
  readonly text: string;
  matches(labels: Labels): boolean;
}

const key = fc.constantFrom("a", "b", "absent");
const value = fc.constantFrom<string>("x", "1", "2", "10", "other");
const values = fc.array(value, { minLength: 1, maxLength: 3 });
const gap = fc.constantFrom("", " ", "  ");

const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.record({ k: key, not: fc.boolean() }).map(({ k, not }) => ({
    text: `${not ? "!" : ""}${k}`,
    matches: (labels: Labels) => (labels[k] === undefined) === not,
  })),
  fc
    .record({ k: key, v: fc.oneof(value, fc.constant("")), sign: fc.constantFrom("=", "==", "!="), s: gap })
    .map(({ k, v, sign, s }) => ({
      text: `${k}${s}${sign}${s}${v}`,
      matches: (labels: Labels) => (labels[k] === v) === (sign !== "!="),
    })),
  fc.record({ k: key, vs: values, word: fc.constantFrom("in", "notin"), s: gap }).map(({ k, vs, word, s }) => ({
    text: `${k} ${word} (${s}${vs.join(`${s},${s}`)}${s})`,
    matches: (labels: Labels) => vs.some((v) => labels[k] === v) === (word === "in"),
  })),
  fc
    .record({ k: key, n: fc.integer({ min: 0, max: 11 }), sign: fc.constantFrom("<", ">"), s: gap })
    .map(({ k, n, sign, s }) => ({
      text: `${k}${s}${sign}${s}${n}`,
      matches(labels: Labels) {
        const number = /^\d+$/.test(labels[k] ?? "") ? Number(labels[k]) : Number.NaN; // what is no number is on no side
        return sign === "<" ? number < n : number > n;
      },
    })),
);

const write = fc.record({
  verb: fc.constantFrom("create", "label", "delete"),
  name: fc.constantFrom("p", "q", "r"),
  team: fc.constantFrom("red", "blue"),
});

export function lawsSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
    for (const metadata of OBJECTS) await stage().admin.post(at(space, "secrets"), { metadata });
  });

  const list = async (query: Record<string, string>, namespace = space) => {
    const { code, body } = await stage().admin.get(`${at(namespace, "secrets")}?${new URLSearchParams(query)}`);
    expect(code).toBe(200);
    return body;
  };
  const names = ({ items }: Body) => items.map(({ metadata }) => metadata.name);

  it("paging.whole: pages of whatever sizes make up the list, and count what is left", async () => {
    const limits = fc.array(fc.integer({ min: 1, max: OBJECTS.length + 1 }), { minLength: 1, maxLength: 4 });
    const selectors = fc.constantFrom("", "a=x", "b!=x");
    const law = fc.asyncProperty(limits, selectors, async (sizes, labelSelector) => {
      const whole = await list({ labelSelector });
      const found: string[] = [];
      let token = "";
      for (let page = 0; page === 0 || token !== ""; page++) {
        const limit = sizes[page % sizes.length] ?? 1;
        const body = await list({ labelSelector, limit: String(limit), ...(token && { continue: token }) });
        found.push(...names(body));
        token = body.metadata.continue ?? "";
        if (token !== "") expect(body.items).toHaveLength(limit);
        const left = token === "" || labelSelector !== "" ? undefined : whole.items.length - found.length;
        expect(body.metadata.remainingItemCount).toBe(left);
      }
      expect(found).toEqual(names(whole));
    });
    await fc.assert(law, { numRuns: 15 });
  });

  it("selectors.model: label selectors choose what their requirements choose together", async () => {
    const selectors = fc.array(requirement, { maxLength: 3 });
    const law = fc.asyncProperty(selectors, gap, async (requirements, s) => {
      const labelSelector = requirements.map(({ text }) => text).join(`${s},${s}`);
      const expected = OBJECTS.filter(({ labels }) => requirements.every(({ matches }) => matches(labels)));
      expect(names(await list({ labelSelector }))).toEqual(expected.map(({ name }) => name));
    });
    await fc.assert(law, { numRuns: 60 });
  });

  it("selectors.grammar: a text is a label selector or a bad request, and never anything else", async () => {
    const pieces = fc.constantFrom(
      "a",
      "b",
      "in",
      "notin",
      "exists",
      "(",
      ")",
      ",",
      "=",
      "==",
      "!",
      "!=",
      "<",
      "1",
      " ",
      "-",
    );
    const law = fc.asyncProperty(fc.array(pieces, { maxLength: 6 }), async (parts) => {
      const query = new URLSearchParams({ labelSelector: parts.join("") });
      const { code, body } = await stage().admin.get(`${at(space, "secrets")}?${query}`);
      expect(["200 SecretList", "400 BadRequest"]).toContain(`${code} ${code === 200 ? body.kind : body.reason}`);
    });
    await fc.assert(law, { numRuns: 60 });
  });

  it("watch.replay: a list and the events after it make the later list, as they happen and afterwards", async () => {
    const law = fc.asyncProperty(fc.array(write, { maxLength: 12 }), fc.nat(12), async (writes, start) => {
      const namespace = await stage().namespace();
      for (const each of writes.slice(0, start)) await perform(namespace, each);
      const before = await list({}, namespace);
      const live = await watchFrom(namespace, before);
      for (const each of writes.slice(start)) await perform(namespace, each);
      await stage().admin.post(at(namespace, "secrets"), { metadata: { name: "last" } });
      const after = await list({}, namespace);
      const late = await watchFrom(namespace, before);
      try {
        for (const watch of [live, late]) {
          await eventually(() => expect(watch.events.at(-1)?.object.metadata.name).toBe("last"));
          expect(replayed(before, watch)).toEqual(after.items);
        }
        expect(late.events).toEqual(live.events);
      } finally {
        live.close();
        late.close();
      }
    });
    await fc.assert(law, { numRuns: 8 });
  });

  const watchFrom = (namespace: string, { metadata }: Body) =>
    stage().admin.watch(`${at(namespace, "secrets")}?watch=true&resourceVersion=${metadata.resourceVersion}`);

  /** What the write finds may refuse it: that is an outcome like any other. */
  async function perform(namespace: string, { verb, name, team }: { verb: string; name: string; team: string }) {
    const labels = { team };
    const { admin } = stage();
    if (verb === "create") await admin.post(at(namespace, "secrets"), { metadata: { name, labels } });
    else if (verb === "label") await admin.patch(at(namespace, "secrets", name), { metadata: { labels } });
    else await admin.delete(at(namespace, "secrets", name));
  }
}

function labelsOf(given: Record<string, string | undefined>): Labels {
  return Object.fromEntries(Object.entries(given).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])));
}

/** The items of a list after the events, in the order of names; an item in a list names no kind, one in an event does. */
function replayed(before: Body, { events }: RawWatch): Body[] {
  const items = new Map(before.items.map((item) => [item.metadata.name, item]));
  for (const { type, object } of events) {
    const { kind: _kind, apiVersion: _version, ...item } = object;
    expect(items.has(object.metadata.name)).toBe(type !== "ADDED"); // nothing comes twice, nothing goes unseen
    if (type === "DELETED") items.delete(object.metadata.name);
    else items.set(object.metadata.name, item as Body);
  }
  return [...items.values()].toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
}
