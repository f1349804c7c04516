import { describe, expect, it } from "vitest";
import { KubeError, statusError } from "../errors.ts";
import { Kinds } from "./kinds.ts";

/** A server that has these documents, and counts how often it is asked. */
function server(documents: Record<string, unknown>) {
  const asked: string[] = [];
  const raw = async (path: string) => {
    asked.push(path);
    const document = documents[path];
    if (document instanceof Error) throw document;
    if (document === undefined) {
      throw statusError({ apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code: 404 });
    }
    return typeof document === "string" ? document : JSON.stringify(document);
  };
  return { asked, documents, kinds: new Kinds({ raw }) };
}

const widgets = { name: "widgets", kind: "Widget", namespaced: true, verbs: ["get", "list"] };
const list = (...resources: object[]) => ({ kind: "APIResourceList", resources });

describe("kinds", () => {
  it("are learned once, however many ask at once", async () => {
    const { kinds, asked } = server({ "/apis/example.com/v1": list(widgets, { ...widgets, name: "widgets/status" }) });
    const object = { apiVersion: "example.com/v1", kind: "Widget" };
    const found = await Promise.all([kinds.find(object), kinds.find(object), kinds.find(object)]);
    expect(found[0]).toEqual({
      group: "example.com",
      version: "v1",
      kind: "Widget",
      plural: "widgets",
      namespaced: true,
    });
    await kinds.find(object);
    expect(asked).toEqual(["/apis/example.com/v1"]);
  });

  it("that are missing are asked for again, because their definition may have come", async () => {
    const { kinds, documents } = server({});
    const object = { apiVersion: "example.com/v1", kind: "Widget" };
    expect(await kinds.find(object)).toBeUndefined();
    documents["/apis/example.com/v1"] = list(widgets);
    expect(await kinds.find(object)).toMatchObject({ plural: "widgets" });
  });

  it("of the core group lie elsewhere, and reviews are none", async () => {
    const { kinds } = server({
      "/api/v1": list({ name: "pods", kind: "Pod", namespaced: true, verbs: ["get"] }),
      "/apis/authorization.k8s.io/v1": list({
        name: "subjectaccessreviews",
        kind: "SubjectAccessReview",
        verbs: ["create"],
      }),
    });
    expect(await kinds.find({ apiVersion: "v1", kind: "Pod" })).toMatchObject({ group: "", plural: "pods" });
    expect(await kinds.find({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" })).toBeUndefined();
  });

  it("are found in another version when the one that was recorded is gone", async () => {
    const { kinds } = server({
      "/apis/example.com": { versions: [{ version: "v2" }] },
      "/apis/example.com/v2": list(widgets),
    });
    expect(await kinds.findAny({ group: "example.com", version: "v1", kind: "Widget" })).toMatchObject({
      version: "v2",
    });
    expect(await kinds.findAny({ group: "gone.com", version: "v1", kind: "Widget" })).toBeUndefined();
  });

  it("are found by their plural too, in whatever version there is, and asked for once", async () => {
    const { kinds, asked } = server({
      "/api/v1": list({ name: "pods", kind: "Pod", namespaced: true, verbs: ["get"] }),
      "/apis/example.com": { versions: [{ version: "v1" }, { version: "v2" }] },
      "/apis/example.com/v2": list(widgets),
    });
    const widget = { group: "example.com", version: "v1", resource: "widgets" };
    expect(await kinds.findResource(widget)).toMatchObject({ kind: "Widget", version: "v2" });
    expect(await kinds.findResource({ group: "", version: "v1", resource: "pods" })).toMatchObject({ kind: "Pod" });
    expect(await kinds.findResource({ group: "gone.com", version: "v1", resource: "widgets" })).toBeUndefined();
    asked.length = 0;
    await kinds.findResource({ ...widget, version: "v2" });
    expect(asked).toEqual([]);
  });

  it("are not taken for missing when the server cannot tell", async () => {
    const { kinds } = server({ "/apis/example.com/v1": new KubeError("lost", "reset"), "/apis/odd.com/v1": "<html>" });
    await expect(kinds.find({ apiVersion: "example.com/v1", kind: "Widget" })).rejects.toThrow("reset");
    await expect(kinds.find({ apiVersion: "odd.com/v1", kind: "Widget" })).rejects.toThrow(/does not say/);
  });
});
