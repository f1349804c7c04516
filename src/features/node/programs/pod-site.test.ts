import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ConfigMap, Pod, Secret, ServiceAccount } from "#api/core";
import { eventually } from "../../../../test/support/eventually.ts";
import { container, KEY, mounted, pod, startProgramNode } from "../../../../test/support/program-node.ts";

const ACCOUNT_VOLUME = {
  name: "account",
  projected: {
    sources: [
      { serviceAccountToken: { path: "token", expirationSeconds: 1000, audience: "them" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    ],
  },
};
const secret = (value: string, name = "paint") => ({
  metadata: { name, namespace: "ns" },
  data: { colour: Buffer.from(value).toString("base64") },
});

describe("the files of a Pod", () => {
  const PAINT = { name: "paint", secret: { secretName: "paint" } };

  it("are awaited, follow their source, and go with the Pod", async () => {
    const node = await startProgramNode([
      Pod,
      pod({ containers: [container(mounted("paint", "/etc/paint"))], volumes: [PAINT] }),
    ]);
    const trouble = 'FailedMount: MountVolume.SetUp failed for volume "paint" : secret "paint" not found';
    await node.settled(() => expect(node.told()).toContain(trouble));
    expect(node.status()?.state?.waiting).toEqual({ reason: "ContainerCreating" });
    node.cluster.put(Secret, secret("red"));
    const { context } = await node.program(0);
    const file = context.resolve("/etc/paint/colour");
    expect(await readFile(file, "utf8")).toBe("red");
    node.cluster.put(Secret, secret("blue"));
    await eventually(async () => expect(await readFile(file, "utf8")).toBe("blue"));
    node.cluster.drop(Secret, "ns/paint");
    node.cluster.put(Secret, secret("grey", "other"));
    await node.settled(async () => expect(await readFile(file, "utf8")).toBe("blue"));
    expect(node.told().filter((text) => text === trouble)).toHaveLength(1);
    node.cluster.drop(Pod, KEY);
    await node.settled(() => expect(existsSync(join(node.root, "uid-1"))).toBe(false));
    expect(context.signal.aborted).toBe(true);
  });

  it("are watched once for all Pods that have them, by name, and no longer than somebody has them", async () => {
    const spec = { containers: [container(mounted("paint", "/etc/paint"))], volumes: [PAINT] };
    const second = { ...pod(spec), metadata: { name: "q", namespace: "ns", uid: "uid-2" } };
    const node = await startProgramNode([Secret, secret("red")], [Pod, pod(spec), second]);
    await node.program(1);
    expect(node.watched()).toEqual(["secrets metadata.name=paint"]);
    for (const key of [KEY, "ns/q"]) node.cluster.drop(Pod, key);
    await node.settled(() => expect(existsSync(join(node.root, "uid-2"))).toBe(false));
    expect(node.watching()).toEqual([]);
    node.cluster.put(Pod, { ...pod(spec), metadata: { name: "r", namespace: "ns", uid: "uid-3" } });
    await node.program(2);
    expect(node.watched()).toHaveLength(2);
  });

  it("cost nothing where all is simulated", async () => {
    const image = "nginx:1";
    const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "paint", key: "colour" } } }];
    const containers = [container({ image, env, ...mounted("paint", "/etc/paint") })];
    const node = await startProgramNode([Pod, pod({ containers, volumes: [PAINT, ACCOUNT_VOLUME] })]);
    await node.settled(() => expect(node.phase()).toBe("Running"));
    expect([node.watched(), node.asked, existsSync(join(node.root, "uid-1"))]).toEqual([[], [], false]);
  });

  it("say why they cannot be had", async () => {
    const node = await startProgramNode([ServiceAccount]);
    node.refused.add("secrets").add("configmaps");
    const envFrom = [{ configMapRef: { name: "cm" } }];
    const broken = [container(mounted("paint", "/p")), container({ name: "second", envFrom })];
    node.cluster.put(Pod, pod({ containers: broken, volumes: [PAINT] }));
    await node.settled(() => {
      expect(node.told()).toContainEqual(expect.stringMatching(/FailedMount: .*volume "paint" : secrets is forbidden/));
      expect(node.status("second")?.state?.waiting).toMatchObject({
        reason: "CreateContainerConfigError",
        message: expect.stringContaining("configmaps is forbidden"),
      });
    });
  });

  it("prove who it is: a token of its account, bound to the Pod, and the authority that the node trusts", async () => {
    const containers = [container(mounted("account", "/var/run/account"))];
    const node = await startProgramNode([Pod, pod({ containers, volumes: [ACCOUNT_VOLUME] })]);
    const { context } = await node.program(0);
    const token = () => readFile(context.resolve("/var/run/account/token"), "utf8");
    expect(await token()).toBe("token-1");
    expect(await readFile(context.resolve("/var/run/account/ca.crt"), "utf8")).toBe("OUR CA");
    expect(node.asked).toEqual([
      {
        audiences: ["them"],
        expirationSeconds: 1000,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name: "p", uid: "uid-1" },
      },
    ]);
    await node.pass(799_999);
    expect(node.asked).toHaveLength(1);
    await node.pass(1);
    await eventually(async () => expect(await token()).toBe("token-2"));
    expect(node.watched()).toEqual([]);
  });

  it("wait for the service account", async () => {
    const containers = [container(mounted("account", "/var/run/account"))];
    const node = await startProgramNode();
    node.cluster.drop(ServiceAccount, "ns/robot");
    node.cluster.put(Pod, pod({ containers, volumes: [ACCOUNT_VOLUME] }));
    await node.settled(() =>
      expect(node.told()).toContainEqual(
        expect.stringMatching(/failed to fetch token: serviceaccounts "robot" not found/),
      ),
    );
    expect(node.watched()).toEqual(["serviceaccounts metadata.name=robot"]);
    node.cluster.put(ServiceAccount, { metadata: { name: "robot", namespace: "ns" } });
    const { context } = await node.program(0);
    expect(await readFile(context.resolve("/var/run/account/token"), "utf8")).toBe("token-1");
  });

  it("are scratch that outlives a restart of the node, which secrets do not", async () => {
    const volumes = [PAINT, { name: "scratch", emptyDir: {} }];
    const volumeMounts = [
      { name: "paint", mountPath: "/etc/paint" },
      { name: "scratch", mountPath: "/tmp/inner", subPath: "a/b" },
    ];
    const node = await startProgramNode(
      [Secret, secret("red")],
      [Pod, pod({ containers: [container({ volumeMounts })], volumes })],
    );
    const { context } = await node.program(0);
    await writeFile(context.resolve("/tmp/inner/note"), "remember");
    const colour = context.resolve("/etc/paint/colour");
    await mkdir(join(node.root, "uid-of-yore/volumes"), { recursive: true });
    await node.programs.sweep((uid) => uid === "uid-1");
    expect(existsSync(join(node.root, "uid-of-yore"))).toBe(false);
    await node.restart();
    expect(existsSync(colour)).toBe(false);
    const again = await node.program(1);
    expect(await readFile(again.context.resolve("/tmp/inner/note"), "utf8")).toBe("remember");
    expect(await readFile(colour, "utf8")).toBe("red");
  });

  it("tell of labels as they change", async () => {
    const items = [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }];
    const containers = [container(mounted("about", "/about"))];
    const node = await startProgramNode([
      Pod,
      pod({ containers, volumes: [{ name: "about", downwardAPI: { items } }] }),
    ]);
    const { context } = await node.program(0);
    const current = node.cluster.read(Pod, KEY);
    if (!current) throw new Error("the Pod is gone");
    node.cluster.put(Pod, { ...current, metadata: { ...current.metadata, labels: { mood: "good" } } });
    await node.settled(async () =>
      expect(await readFile(context.resolve("/about/labels"), "utf8")).toBe('mood="good"'),
    );
  });

  it("can be binary, and mounted one by one", async () => {
    const bytes = Buffer.from([0, 255, 10]);
    const configMap = {
      metadata: { name: "cm", namespace: "ns" },
      data: { text: "words" },
      binaryData: { image: bytes.toString("base64") },
    };
    const containers = [container(mounted("cm", "/image.png", { subPath: "image" }))];
    const volumes = [{ name: "cm", configMap: { name: "cm" } }];
    const node = await startProgramNode([ConfigMap, configMap], [Pod, pod({ containers, volumes })]);
    const { context } = await node.program(0);
    expect(await readFile(context.resolve("/image.png"))).toEqual(bytes);
  });
});
