import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { type Body, created, edited, find, shown, updated } from "./testing/drafts.ts";

describe("namespaces", () => {
  const resource = find("Namespace");
  const { object } = created(resource, { metadata: { name: "team" }, status: { phase: "Terminating" } });

  it("carry their name as a label, hold their content, and are active", () => {
    expect(object.metadata.labels).toEqual({ "kubernetes.io/metadata.name": "team" });
    expect(object.spec).toEqual({ finalizers: ["kubernetes"] });
    expect(object.status).toEqual({ phase: "Active" });
  });

  it("let go of their content only through /finalize", () => {
    const empty = (draft: DynamicObject) => {
      draft.spec = {};
    };
    expect(updated(resource, object, empty).object.spec).toEqual({ finalizers: ["kubernetes"] });
    expect(edited(resource, "finalize", object, empty).object.spec).toEqual({});
  });

  it("keep their name label, whatever an update says", () => {
    const next = updated(resource, object, (draft) => {
      draft.metadata.labels = { a: "b" };
    });
    expect(next.object.metadata.labels).toEqual({ a: "b", "kubernetes.io/metadata.name": "team" });
  });

  it("are not terminating before they are deleted", () => {
    const { errors } = edited(resource, "status", object, (draft) => {
      draft.status = { phase: "Terminating" };
    });
    expect(shown(errors)).toEqual(["status.phase: Invalid"]);
  });

  it("cannot be deleted all at once", () => {
    expect(resource.verbs).not.toContain("deletecollection");
  });
});

describe("secrets", () => {
  const resource = find("Secret");

  it("store plain text as data", () => {
    const { object } = created(resource, { data: { a: "YQ==" }, stringData: { b: "b", a: "z" } });
    expect(object.data).toEqual({ a: "eg==", b: "Yg==" });
    expect(object).not.toHaveProperty("stringData");
    expect(object.type).toBe("Opaque");
  });

  const rows: [why: string, body: Body, errors: string[]][] = [
    ["keys may become file names", { data: { "a/b": "" } }, ["data[a/b]: Invalid"]],
    ["a megabyte is enough", { data: { a: Buffer.alloc(1024 * 1024 + 1).toString("base64") } }, ["data: TooLong"]],
    [
      "a token names its account",
      { type: "kubernetes.io/service-account-token" },
      ["metadata.annotations[kubernetes.io/service-account.name]: Required"],
    ],
    ["TLS needs both parts", { type: "kubernetes.io/tls", data: { "tls.crt": "" } }, ["data[tls.key]: Required"]],
    [
      "registries read JSON",
      { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{" } },
      ["data[.dockerconfigjson]: Invalid"],
    ],
    ["any type is fine", { type: "helm.sh/release.v1" }, []],
  ];
  it.each(rows)("%s", (_, body, errors) => {
    expect(shown(created(resource, body).errors)).toEqual(errors);
  });

  it("keep their type", () => {
    const { object } = created(resource, { type: "a/b" });
    const { errors } = updated(resource, object, (draft) => {
      draft.type = "Opaque";
    });
    expect(errors).toEqual([
      { reason: "FieldValueInvalid", field: "type", message: 'Invalid value: "Opaque": field is immutable' },
    ]);
  });

  it("keep their data once frozen, and stay frozen", () => {
    const { object } = created(resource, { immutable: true, data: { a: "YQ==" } });
    const { errors } = updated(resource, object, (draft) => {
      draft.immutable = false;
      draft.data = { a: "Yg==" };
    });
    expect(shown(errors)).toEqual(["immutable: Forbidden", "data: Forbidden"]);
    expect(errors[1]?.message).toBe("Forbidden: field is immutable when `immutable` is set");
  });
});

describe("config maps", () => {
  it("hold a key once", () => {
    const { errors } = created(find("ConfigMap"), { data: { a: "x" }, binaryData: { a: "eA==" } });
    expect(shown(errors)).toEqual(["data[a]: Invalid"]);
  });
});

describe("nodes", () => {
  it("register with their capacity, because a kubelet says it when it comes", () => {
    const { object } = created(find("Node"), { status: { capacity: { cpu: "2000m" } } });
    expect(object.status).toMatchObject({ capacity: { cpu: "2" } });
  });
});

describe("/status", () => {
  it("changes the status, labels and annotations, and nothing else", () => {
    const resource = find("Node");
    const { object } = created(resource, { metadata: { finalizers: ["a/b"] }, spec: { unschedulable: true } });
    const { object: next } = edited(resource, "status", object, (draft) => {
      draft.metadata.annotations = { seen: "yes" };
      draft.metadata.finalizers = [];
      draft.spec = {};
      draft.status = { phase: "Running" };
    });
    expect(next.spec).toMatchObject({ unschedulable: true });
    expect(next.metadata).toMatchObject({ finalizers: ["a/b"], annotations: { seen: "yes" } });
    expect(next.status).toMatchObject({ phase: "Running" });
  });

  it("leaves the labels of a Deployment alone", () => {
    const resource = find("Deployment");
    const { object } = created(resource, { metadata: { labels: { a: "b" } } });
    const { object: next } = edited(resource, "status", object, (draft) => {
      draft.metadata.labels = { c: "d" };
    });
    expect(next.metadata.labels).toEqual({ a: "b" });
  });
});

describe("events", () => {
  const [core, renamed] = [find("Event", ""), find("Event", "events.k8s.io")];
  const body = {
    regarding: { kind: "Pod", namespace: "default", name: "p" },
    note: "hello",
    type: "Normal",
    reason: "R",
    action: "A",
  };

  it("are stored the same, whichever group they come through", () => {
    const { object, errors } = created(renamed, {
      ...body,
      reportingController: "c",
      reportingInstance: "i",
      eventTime: "2026-01-01T00:00:00.000000Z",
    });
    expect(errors).toEqual([]);
    expect(object).toMatchObject({
      apiVersion: "v1",
      involvedObject: body.regarding,
      message: "hello",
      reportingComponent: "c",
      lastTimestamp: null,
    });
    expect(object).not.toHaveProperty("note");
    expect(core.table.row(object, new Date("2026-01-01T00:01:00Z")).slice(0, 4)).toEqual([
      "60s",
      "Normal",
      "R",
      "pod/p",
    ]);
  });

  it("come back from events.k8s.io as they went in", () => {
    const { object } = created(renamed, body);
    const shownEvent = renamed.strategy.present(object);
    expect(shownEvent).toMatchObject({
      apiVersion: "events.k8s.io/v1",
      ...body,
      deprecatedSource: {},
      eventTime: null,
    });
    expect(renamed.strategy.decode(shownEvent).object).toEqual(object);
    expect(renamed.table.row(shownEvent, new Date())).toEqual(core.table.row(object, new Date()));
  });

  it("are chosen by the object they are about", () => {
    const { object } = created(renamed, body);
    expect(core.strategy.selectableFields["involvedObject.name"]?.(object)).toBe("p");
    expect(renamed.strategy.selectableFields["regarding.kind"]?.(object)).toBe("Pod");
  });

  it("lie in the namespace of their object; those of the whole cluster in default", () => {
    const about = (namespace: string) => ({ involvedObject: { kind: "Node", name: "n", namespace } });
    expect(shown(created(core, about("other")).errors)).toEqual(["involvedObject.namespace: Invalid"]);
    expect(created(core, about("")).errors).toEqual([]);
  });
});
