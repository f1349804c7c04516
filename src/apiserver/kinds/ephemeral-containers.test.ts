import { describe, expect, it } from "vitest";
import { created, edited, find, shown } from "./testing/drafts.ts";

const resource = find("Pod");
const { object: pod } = created(resource, {
  metadata: { labels: { app: "web" } },
  spec: { nodeName: "n1", containers: [{ name: "web", image: "nginx" }] },
});
const debug = { name: "debug", image: "busybox" };

function added(...containers: object[]) {
  return edited(resource, "ephemeralcontainers", pod, (draft) => {
    draft.metadata.labels = { app: "other" };
    draft.spec = { ...(draft.spec as object), nodeName: "n2", ephemeralContainers: containers };
  });
}

describe("containers that are added to look at a Pod", () => {
  it("are all that changes", () => {
    const { object, errors } = added(debug);
    expect(errors).toEqual([]);
    expect(object.metadata.labels).toEqual({ app: "web" });
    expect(object.spec).toMatchObject({ nodeName: "n1", ephemeralContainers: [debug] });
  });

  it("have the defaults of containers", () => {
    expect(added(debug).object.spec).toMatchObject({
      ephemeralContainers: [{ terminationMessagePath: "/dev/termination-log", imagePullPolicy: "Always" }],
    });
  });

  it.each<[why: string, container: object, expected: string]>([
    ["has no name", { image: "busybox" }, "spec.ephemeralContainers[0].name: Required"],
    ["has no image", { name: "debug" }, "spec.ephemeralContainers[0].image: Required"],
    ["has the name of another", { ...debug, name: "web" }, "spec.ephemeralContainers[0].name: Duplicate"],
    [
      "looks at a container that is not there",
      { ...debug, targetContainerName: "db" },
      "spec.ephemeralContainers[0].targetContainerName: NotFound",
    ],
    ["has ports", { ...debug, ports: [{ containerPort: 80 }] }, "spec.ephemeralContainers[0].ports: Forbidden"],
    [
      "asks for resources",
      { ...debug, resources: { requests: { cpu: "1" } } },
      "spec.ephemeralContainers[0].resources: Forbidden",
    ],
  ])("one that %s is refused", (_, container, expected) => {
    expect(shown(added(container).errors)).toEqual([expected]);
  });

  it("stay as they are", () => {
    const { object: running } = added(debug);
    const change = (list: object[]) =>
      shown(
        edited(resource, "ephemeralcontainers", running, (draft) => {
          draft.spec = { ...(draft.spec as object), ephemeralContainers: list };
        }).errors,
      );
    expect(change([])).toEqual(["spec.ephemeralContainers: Forbidden"]);
    expect(change([{ ...debug, image: "alpine" }])).toEqual(["spec.ephemeralContainers: Forbidden"]);
    expect(change([debug, { name: "more", image: "busybox" }])).toEqual([]);
  });
});
