import { describe, expect, it } from "vitest";
import { CLEANUP_FINALIZER, type CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import type { RequestContext } from "../resource.ts";
import { type BuiltinNames, definitionResource, establish } from "./index.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const context: RequestContext = {
  user: { username: "u", groups: [] },
  now: NOW,
  dryRun: false,
  fieldManager: "m",
  warn: () => {},
};

type Change = (definition: CustomResourceDefinition) => void;

function gadget(change: Change = () => {}): CustomResourceDefinition {
  const definition: CustomResourceDefinition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "gadgets.example.com" },
    spec: {
      group: "example.com",
      names: { plural: "gadgets", kind: "Gadget", shortNames: ["gd"] },
      scope: "Namespaced",
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
  change(definition);
  return definition;
}

/** The definition as the server stores it, or what it finds wrong with it. */
function create(definition: unknown, others: CustomResourceDefinition[] = [], builtins: BuiltinNames[] = []) {
  const { strategy } = definitionResource({ definitions: () => others, builtins: () => builtins });
  const { object: draft, unknownFields } = strategy.decode(definition as DynamicObject);
  strategy.default(draft);
  strategy.prepareForCreate(draft, context);
  const errors = strategy
    .validateCreate(draft, context)
    .map(({ reason, field }) => `${reason.replace("FieldValue", "")} ${field}`);
  return { stored: draft as unknown as CustomResourceDefinition, unknownFields, errors };
}

function update(change: Change, current = create(gadget()).stored) {
  const { strategy } = definitionResource({ definitions: () => [], builtins: () => [] });
  const draft = clone(current) as unknown as DynamicObject;
  change(draft as unknown as CustomResourceDefinition);
  strategy.default(draft);
  strategy.prepareForUpdate(draft, current as unknown as DynamicObject, context);
  const errors = strategy
    .validateUpdate(draft, current as unknown as DynamicObject, context)
    .map(({ reason, field }) => `${reason.replace("FieldValue", "")} ${field}`);
  return { stored: draft as unknown as CustomResourceDefinition, errors };
}

const condition = ({ status }: CustomResourceDefinition, type: string) =>
  status?.conditions?.find((c) => c.type === type);

describe("creating a definition", () => {
  it("fills in names and conversion, and is established at once", () => {
    const { stored, errors } = create(gadget());
    expect(errors).toEqual([]);
    expect(stored.spec.names).toMatchObject({ singular: "gadget", listKind: "GadgetList" });
    expect(stored.spec.conversion).toEqual({ strategy: "None" });
    expect(stored.status).toEqual({
      conditions: [
        {
          type: "NamesAccepted",
          status: "True",
          lastTransitionTime: "2026-01-01T00:00:00Z",
          reason: "NoConflicts",
          message: "no conflicts found",
        },
        {
          type: "Established",
          status: "True",
          lastTransitionTime: "2026-01-01T00:00:00Z",
          reason: "InitialNamesAccepted",
          message: "the initial names have been accepted",
        },
      ],
      acceptedNames: {
        plural: "gadgets",
        singular: "gadget",
        shortNames: ["gd"],
        kind: "Gadget",
        listKind: "GadgetList",
      },
      storedVersions: ["v1"],
    });
  });

  it("reports fields that no definition has", () => {
    const { unknownFields } = create({ ...gadget(), spec: { ...gadget().spec, color: "red" } });
    expect(unknownFields).toEqual(["spec.color"]);
  });

  it("keeps zeroes in schemas, because a minimum of 0 is a rule", () => {
    const { stored } = create(
      gadget(({ spec }) => {
        spec.versions[0] = {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", properties: { n: { type: "integer", minimum: 0, default: 0 } } },
          },
        };
      }),
    );
    expect(stored.spec.versions[0]?.schema?.openAPIV3Schema?.properties?.n).toEqual({
      type: "integer",
      minimum: 0,
      default: 0,
    });
  });

  const version = (change: Partial<CustomResourceDefinition["spec"]["versions"][number]>) =>
    gadget(({ spec }) => {
      spec.versions = spec.versions.map((only) => ({ ...only, ...change }));
    });

  it.each<[string, unknown, string[]]>([
    [
      "another name than plural and group",
      gadget((d) => {
        d.metadata.name = "gadget.example.com";
      }),
      ["Invalid metadata.name"],
    ],
    [
      "a group without a dot",
      gadget((d) => {
        d.spec.group = "example";
        d.metadata.name = "gadgets.example";
      }),
      ["Invalid spec.group"],
    ],
    ["no scope", { ...gadget(), spec: { ...gadget().spec, scope: undefined } }, ["Required spec.scope"]],
    [
      "a kind that is no label",
      gadget((d) => {
        d.spec.names.kind = "Big Gadget";
      }),
      ["Invalid spec.names.singular", "Invalid spec.names.kind", "Invalid spec.names.listKind"],
    ],
    [
      "a list kind like the kind",
      gadget((d) => {
        d.spec.names.listKind = "Gadget";
      }),
      ["Invalid spec.names.listKind"],
    ],
    [
      "unknown fields kept everywhere",
      gadget((d) => {
        d.spec.preserveUnknownFields = true;
      }),
      ["Invalid spec.preserveUnknownFields"],
    ],
    [
      "no version",
      gadget((d) => {
        d.spec.versions = [];
      }),
      ["Required spec.versions"],
    ],
    ["no storage version", version({ storage: false }), ["Invalid spec.versions"]],
    [
      "one version twice",
      gadget(
        (d) => void d.spec.versions.push({ ...version({}).spec.versions[0], name: "v1", served: true, storage: false }),
      ),
      ["Duplicate spec.versions[1].name"],
    ],
    ["no schema", version({ schema: {} }), ["Required spec.versions[0].schema.openAPIV3Schema"]],
    [
      "a schema that is not structural",
      version({ schema: { openAPIV3Schema: { type: "object", properties: { spec: {} } } } }),
      ["Required spec.validation.openAPIV3Schema.properties[spec].type"],
    ],
    [
      "columns that cannot be printed",
      version({ additionalPrinterColumns: [{ name: "", type: "text" as "string", jsonPath: ".a[" }] }),
      [
        "Required spec.additionalPrinterColumns[0].name",
        "Invalid spec.additionalPrinterColumns[0].type",
        "Invalid spec.additionalPrinterColumns[0].JSONPath",
      ],
    ],
    [
      "a scale outside of spec and status",
      version({ subresources: { scale: { specReplicasPath: ".status.n", statusReplicasPath: ".status.a[0]" } } }),
      ["Invalid spec.subresources.scale.specReplicasPath", "Invalid spec.subresources.scale.statusReplicasPath"],
    ],
    [
      "too many selectable fields",
      version({ selectableFields: Array.from({ length: 9 }, (_, n) => ({ jsonPath: `.spec.f${n}` })) }),
      ["TooMany spec.selectableFields"],
    ],
    [
      "a webhook without an address",
      gadget((d) => {
        d.spec.conversion = { strategy: "Webhook" };
      }),
      ["Required spec.conversion.webhookClientConfig", "Required spec.conversion.conversionReviewVersions"],
    ],
  ])("refuses %s", (_, definition, errors) => {
    expect(create(definition).errors).toEqual(errors);
  });

  it("answers 400 for a field of the wrong type and for a schema nested without end", () => {
    expect(() => create({ ...gadget(), spec: { ...gadget().spec, versions: "v1" } })).toThrow(/cannot unmarshal/);
    let schema: Record<string, unknown> = { type: "object" };
    for (let level = 0; level < 2000; level++) schema = { type: "object", properties: { a: schema } };
    expect(() => create(version({ schema: { openAPIV3Schema: schema } }))).toThrow(/depth/);
  });
});

describe("a group of the Kubernetes community", () => {
  const about = (approved?: string) =>
    gadget((d) => {
      d.spec.group = "about.k8s.io";
      d.metadata = {
        name: "gadgets.about.k8s.io",
        ...(approved && { annotations: { "api-approved.kubernetes.io": approved } }),
      };
    });

  it.each([
    ["https://github.com/kubernetes/enhancements/pull/1", "ApprovedAnnotation", "True"],
    ["unapproved, a prototype", "UnapprovedAnnotation", "False"],
  ])("takes %s as %s", (text, reason, status) => {
    const { stored, errors } = create(about(text));
    expect(errors).toEqual([]);
    expect(condition(stored, "KubernetesAPIApprovalPolicyConformant")).toMatchObject({ reason, status });
  });

  it("refuses a definition without a usable approval", () => {
    const path = "metadata.annotations[api-approved.kubernetes.io]";
    expect(create(about()).errors).toEqual([`Required ${path}`]);
    expect(create(about("yes")).errors).toEqual([`Invalid ${path}`]);
  });

  it("leaves experiments alone", () => {
    const { stored, errors } = create(
      gadget((d) => {
        d.spec.group = "multicluster.x-k8s.io";
        d.metadata.name = "gadgets.multicluster.x-k8s.io";
      }),
    );
    expect(errors).toEqual([]);
    expect(condition(stored, "KubernetesAPIApprovalPolicyConformant")).toBeUndefined();
  });
});

describe("updating a definition", () => {
  it.each<[string, Change, string[]]>([
    [
      "a new scope",
      (d) => {
        d.spec.scope = "Cluster";
      },
      ["Invalid spec.scope"],
    ],
    [
      "a new kind",
      (d) => {
        d.spec.names.kind = "Widget";
      },
      ["Invalid spec.names.kind"],
    ],
    [
      "the loss of a version that objects are stored in",
      (d) => {
        d.spec.versions = d.spec.versions.map((v) => ({ ...v, name: "v2" }));
      },
      ["Invalid status.storedVersions[0]"],
    ],
  ])("refuses %s", (_, change, errors) => {
    expect(update(change).errors).toEqual(errors);
  });

  it("remembers the versions that objects may be stored in", () => {
    const { stored, errors } = update((d) => {
      d.spec.versions = [
        ...d.spec.versions.map((v) => ({ ...v, storage: false })),
        ...d.spec.versions.map((v) => ({ ...v, name: "v2" })),
      ];
    });
    expect(errors).toEqual([]);
    expect(stored.status?.storedVersions).toEqual(["v1", "v2"]);
  });

  it("changes nothing the second time", () => {
    const { stored } = create(gadget());
    expect(update(() => {}, stored).stored).toEqual(stored);
  });

  it("is held by the cleanup of its objects once it is deleted", () => {
    const { stored } = create(gadget());
    const { strategy } = definitionResource({ definitions: () => [], builtins: () => [] });
    strategy.prepareForDelete?.(stored as unknown as DynamicObject);
    expect(stored.metadata.finalizers).toEqual([CLEANUP_FINALIZER]);
  });

  it("changes only the status through /status", () => {
    const resource = definitionResource({ definitions: () => [], builtins: () => [] });
    const [status] = resource.subresources;
    const current = create(gadget()).stored as unknown as DynamicObject;
    const draft = clone(current);
    draft.metadata.labels = { a: "b" };
    draft.status = { storedVersions: ["v0"] };
    status?.edit?.prepare(draft, current, context);
    expect(draft.metadata.labels).toBeUndefined();
    expect(draft.status).toEqual({ storedVersions: ["v0"] });
    expect(status?.edit?.validate(draft, current, context)).toMatchObject([
      { field: "status.storedVersions[0]" },
      { field: "status.storedVersions" },
    ]);
  });
});

describe("establish", () => {
  const { stored: first } = create(gadget());
  const second = gadget((d) => {
    d.metadata.name = "gizmos.example.com";
    d.spec.names = { plural: "gizmos", kind: "Gizmo", singular: "gizmo", listKind: "GizmoList" };
  });
  const named = (names: Partial<CustomResourceDefinition["spec"]["names"]>) =>
    gadget((d) => {
      d.metadata.name = second.metadata.name;
      d.spec.names = { ...second.spec.names, ...names };
    });

  it.each([
    [{ plural: "gadgets" }, "PluralConflict"],
    [{ singular: "gadget" }, "SingularConflict"],
    [{ shortNames: ["gz", "gd"] }, "ShortNamesConflict"],
    [{ kind: "Gadget" }, "KindConflict"],
    [{ listKind: "GadgetList" }, "ListKindConflict"],
  ])("does not serve a kind that claims %o of another one", (names, reason) => {
    const status = establish(named(names), [first], [], NOW);
    expect(status.conditions).toMatchObject([
      { type: "NamesAccepted", status: "False", reason },
      { type: "Established", status: "False", reason: "NotAccepted" },
    ]);
  });

  it("grants names in another group", () => {
    const elsewhere = gadget((d) => {
      d.spec.group = "other.com";
    });
    expect(establish(elsewhere, [first], [], NOW).conditions).toMatchObject([{ status: "True" }, { status: "True" }]);
  });

  it("knows the names of built-in kinds", () => {
    const builtin = {
      group: "example.com",
      plural: "gizmos",
      singular: "gizmo",
      shortNames: [],
      kind: "Other",
      listKind: "OtherList",
    };
    expect(establish(second, [], [builtin], NOW).conditions?.[0]).toMatchObject({ reason: "SingularConflict" });
  });

  it("goes on serving a kind whose new short name is taken, under its old names", () => {
    const served = { ...second, status: establish(second, [first], [], NOW) };
    const later = establish(
      { ...served, spec: named({ shortNames: ["gd"] }).spec },
      [first],
      [],
      new Date("2026-02-02T00:00:00Z"),
    );
    expect(later.conditions).toMatchObject([
      { type: "NamesAccepted", status: "False", lastTransitionTime: "2026-02-02T00:00:00Z" },
      { type: "Established", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" },
    ]);
    expect(later.acceptedNames?.shortNames).toBeUndefined();
  });
});

describe("the table of definitions", () => {
  it("shows scope, served versions and the time of creation", () => {
    const { table } = definitionResource({ definitions: () => [], builtins: () => [] });
    const object = gadget((d) => {
      d.metadata.creationTimestamp = "2026-01-01T00:00:00Z";
    });
    expect(table.columns.map(({ name }) => name)).toEqual(["Name", "Scope", "Versions", "Created At"]);
    expect(table.row(object as unknown as DynamicObject, NOW)).toEqual([
      "gadgets.example.com",
      "Namespaced",
      "v1",
      "2026-01-01T00:00:00Z",
    ]);
  });
});
