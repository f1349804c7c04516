/** Definitions from the wild, and what a kube-apiserver answered to the same requests. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { describe, expect, it } from "vitest";
import type { CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject, Status } from "#api/meta";
import { clone, parseJson } from "#lib/json";
import type { RequestContext } from "../resource.ts";
import { customResources, definitionResource } from "./index.ts";

const SHARED = fileURLToPath(new URL("../../../../shared/", import.meta.url));
const CRDS = `${SHARED}upstream/crds/`;
const GOLDEN = `${SHARED}spec/embedded-apiserver-golden.jsonl`;
const isRequired = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");
const isSkipped = !existsSync(SHARED) && !isRequired;

const context: RequestContext = {
  user: { username: "u", groups: [] },
  now: new Date("2026-11-15T22:07:03Z"),
  dryRun: false,
  fieldManager: "node",
  warn: () => {},
};

const definitions = definitionResource({ definitions: () => [], builtins: () => [] });

function create(body: unknown) {
  const { object, unknownFields } = definitions.strategy.decode(body as DynamicObject);
  definitions.strategy.default(object);
  definitions.strategy.prepareForCreate(object, context);
  const errors = definitions.strategy.validateCreate(object, context);
  return { stored: object as unknown as CustomResourceDefinition, unknownFields, errors };
}

describe.skipIf(isSkipped)("definitions of shared/upstream", () => {
  const files = isSkipped ? [] : readdirSync(CRDS).filter((file) => file.endsWith(".yaml"));

  it("are there", () => {
    expect(files.length).toBeGreaterThan(20);
  });

  it.each(files)("%s is accepted and brings its resources", (file) => {
    const { stored, unknownFields, errors } = create(load(withoutTemplates(readFileSync(`${CRDS}${file}`, "utf8"))));
    expect(errors.map(({ field }) => field)).toEqual(UNAPPROVED.has(file) ? [APPROVAL] : []);
    expect(unknownFields).toEqual([]);
    const served = stored.spec.versions.filter(({ served }) => served).map(({ name }) => name);
    expect(customResources(stored).map(({ version }) => version)).toEqual(served);
  });
});

/** As its project publishes it, this one lacks the approval that its group needs, and no server takes it so. */
const UNAPPROVED = new Set(["about.k8s.io_clusterproperties.yaml"]);
const APPROVAL = "metadata.annotations[api-approved.kubernetes.io]";

/** Two files are Go templates: their conversion stanza names a Service of the installation. */
function withoutTemplates(text: string): string {
  return text.includes("{{") ? text.replace(/^ {2}conversion:\n(?: {3,}.*\n)+/m, "") : text;
}

interface Recording {
  section: string;
  method: string;
  path: string;
  body?: DynamicObject;
  status: number;
  accept?: string;
  response: unknown;
}

describe.skipIf(isSkipped)("recordings of a kube-apiserver", () => {
  const recordings = isSkipped
    ? []
    : readFileSync(GOLDEN, "utf8")
        .split("\n")
        .filter((line) => line.includes('"section":"crd"'))
        .map((line) => parseJson(line) as Recording);
  const at = (method: string, path: string) => recordings.filter((r) => r.method === method && r.path.endsWith(path));
  const response = <T>(method: string, path: string) => at(method, path)[0]?.response as T;
  const widgets = () => response<CustomResourceDefinition>("GET", "/widgets.example.com");
  const red = () => {
    const { items } = response<{ items: DynamicObject[] }>("GET", "/widgets?fieldSelector=spec.color%3Dred");
    if (!items[0]) throw new Error("no red widget was recorded");
    return items[0];
  };
  const resource = () => {
    const [found] = customResources(create(clone(widgets())).stored);
    if (!found) throw new Error("no resource");
    return found;
  };

  it("give a new definition the same spec and status", () => {
    const { metadata, spec, status } = widgets();
    const { apiVersion, kind } = widgets();
    const { stored, errors } = create({ apiVersion, kind, metadata: { name: metadata.name }, spec: clone(spec) });
    expect(errors).toEqual([]);
    expect(stored.spec).toEqual(spec);
    expect(stored.status?.acceptedNames).toEqual(status?.acceptedNames);
    expect(stored.status?.storedVersions).toEqual(status?.storedVersions);
    const withoutTime = (conditions: unknown[] = []) =>
      conditions.map((c) => ({ ...(c as object), lastTransitionTime: "" }));
    expect(withoutTime(stored.status?.conditions)).toEqual(withoutTime(status?.conditions));
  });

  it("agree on what discovery needs", () => {
    const { resources } = response<{ resources: Record<string, unknown>[] }>("GET", "/apis/example.com/v1");
    const [theirs, ...subresources] = resources;
    const { plural, singular, namespaced, kind, verbs, shortNames, categories, subresources: ours } = resource();
    expect({ name: plural, singularName: singular, namespaced, kind, verbs, shortNames, categories }).toEqual(
      (({ storageVersionHash: _, ...rest }) => rest)(theirs ?? {}),
    );
    expect(ours.map(({ name, verbs, responseKind }) => [`${plural}/${name}`, verbs, responseKind.kind])).toEqual(
      subresources.map(({ name, verbs, kind }) => [name, verbs, kind]),
    );
  });

  it("agree on what a new object becomes and on what is wrong with bad ones", () => {
    const { strategy } = resource();
    const creates = at("POST", "/widgets").filter(({ body }) => body?.kind === "Widget");
    expect(creates.length).toBeGreaterThan(4);
    for (const { body, status, response: answer } of creates) {
      const { object } = strategy.decode(clone(body) as DynamicObject);
      strategy.default(object);
      strategy.prepareForCreate(object, context);
      const errors = strategy.validateCreate(object, context);
      if (status === 201) {
        expect(errors).toEqual([]);
        expect(object.spec).toEqual((answer as DynamicObject).spec);
        expect(object.status).toEqual((answer as DynamicObject).status);
      } else {
        expect(causes(errors)).toEqual(causes((answer as Status).details?.causes ?? []));
      }
    }
  });

  it("agree on what rules say about a change", () => {
    const changes = at("PATCH", "/widgets/w1").filter(({ status }) => status === 422);
    expect(changes.length).toBeGreaterThan(0);
    for (const { body, response: answer } of changes) {
      const changed = { ...red(), spec: { ...(red().spec as object), ...(body?.spec as object) } };
      const errors = resource().strategy.validateUpdate(changed, red(), context);
      expect(errors.map(({ reason, field, message }) => ({ reason, message, field }))).toEqual(
        (answer as Status).details?.causes,
      );
    }
  });

  it("agree on the scale of an object", () => {
    const scale = response("PATCH", "/w1/scale");
    expect(
      resource()
        .subresources.find(({ name }) => name === "scale")
        ?.view?.read(red()),
    ).toEqual(scale);
  });

  it("agree on the table", () => {
    const [recorded] = recordings.filter(({ accept }) => accept?.includes("as=Table"));
    const table = recorded?.response as { columnDefinitions: object[]; rows: { cells: unknown[] }[] };
    const ours = resource().table;
    const withoutText = (column: object) => ({ ...column, description: "" });
    expect(ours.columns.map(withoutText)).toEqual(table.columnDefinitions.map(withoutText));
    expect(ours.row(red(), context.now)).toEqual(table.rows[0]?.cells);
  });
});

/** Reason and field of each cause. */
function causes(errors: readonly { reason?: string; field?: string }[]): string[] {
  return errors.map(({ reason, field }) => `${reason} ${field}`).sort();
}
