/** kubectl as people type it: the same commands on an embedded and on a real API server, the same answers. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubeconfigText } from "#kube";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { missingControlPlane, startControlPlane } from "./control-plane.ts";

const missing = missingControlPlane();

/** Those that KUBECTLS names, else the one on the PATH and its siblings of other versions. */
function kubectls(): string[] {
  const named = process.env.KUBECTLS?.split(delimiter).filter(Boolean);
  if (named?.length) return named;
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((dir) => join(dir, "kubectl"))
    .find((path) => existsSync(path));
  if (!found) return [];
  const real = realpathSync(found);
  const siblings = readdirSync(dirname(real)).filter((name) => /^kubectl\.1\.\d+$/.test(name));
  return siblings.length > 0 ? siblings.map((name) => join(dirname(real), name)) : [real];
}

const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.25
        ports: [{containerPort: 80}]
        env: [{name: A, value: a}, {name: B, value: b}]
`;
const CHANGED = DEPLOYMENT.replace("nginx:1.25", "nginx:1.26").replace("{name: B, value: b}", "{name: C, value: c}");
const CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata: {a: one}\n";
const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.kubectl.example.com}
spec:
  group: kubectl.example.com
  names: {kind: Gadget, plural: gadgets, singular: gadget, shortNames: [gd]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, minimum: 1}}}
`;
const GADGET = "apiVersion: kubectl.example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {size: 3}\n";

/** How much of an answer must be the same: all that is printed, its lines in any order, or that it worked. */
type Sameness = "output" | "lines" | "exit";

interface Step {
  readonly args: string;
  readonly input?: string;
  readonly same: Sameness;
}

const step = (args: string, same: Sameness = "output", input?: string): Step => ({
  args,
  same,
  ...(input !== undefined && { input }),
});

const STEPS: readonly Step[] = [
  step("version", "exit"),
  step("api-resources", "exit"),
  step("get namespaces"),
  step("get ns default -o wide"),
  step("create -f -", "output", CONFIGMAP),
  step("create -f -", "output", CONFIGMAP), // it exists already
  step("get cm conf -o yaml"),
  step("get cm conf -o jsonpath={.data.a}"),
  step("apply -f -", "output", DEPLOYMENT),
  step("apply -f -", "output", DEPLOYMENT), // unchanged
  step("diff -f -", "exit", CHANGED),
  step("apply -f -", "output", CHANGED),
  step("get deployment web -o jsonpath={.spec.template.spec.containers[0]}"),
  step("apply --server-side -f -", "output", CONFIGMAP.replace("conf", "ssa")),
  step(
    "apply --server-side --field-manager=other -f -",
    "output",
    CONFIGMAP.replace("conf", "ssa").replace("one", "two"),
  ), // a conflict
  step(
    "apply --server-side --field-manager=other --force-conflicts -f -",
    "output",
    CONFIGMAP.replace("conf", "ssa").replace("one", "two"),
  ),
  step("scale deployment web --replicas=0"),
  step("get deployment web -o jsonpath={.spec.replicas}"),
  step("explain configmap", "exit"),
  step("explain deployment.spec.template", "exit"),
  step("label cm conf colour=red"),
  step("label cm conf colour=blue"), // refused without --overwrite
  step("get cm -l colour=red"),
  step("get cm conf --show-labels"),
  step("annotate cm conf note=hello"),
  step(`patch cm conf --type=merge -p {"data":{"b":"two"}}`),
  step(`patch deployment web -p {"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.27"}]}}}}`),
  step("set image deployment/web web=nginx:1.28"),
  step("get deployment web -o jsonpath={.spec.template.spec.containers[*].image}"),
  step("describe cm conf", "lines"), // kubectl walks a Go map, in no order
  step("describe deployment web", "exit"),
  step("rollout restart deployment/web"),
  step("rollout history deployment/web", "exit"),
  step("auth can-i create pods"),
  step("auth can-i --list", "exit"),
  step("auth whoami", "exit"),
  step("apply -f -", "output", DEFINITION),
  step("wait --for=condition=Established crd/gadgets.kubectl.example.com --timeout=20s"),
  step("apply -f -", "output", GADGET),
  step("get gadgets"),
  step("get gd g -o jsonpath={.spec.size}"),
  step("apply -f -", "output", GADGET.replace("size: 3", "size: 0")), // below its minimum
  step("explain gadgets.spec", "exit"),
  step("create token default", "exit"),
  step("create namespace extra"),
  step("create cm other -n extra --from-literal=a=b"),
  step("get cm other -n extra -o jsonpath={.data}"),
  step("create deployment small --image=nginx -n extra --replicas=0"),
  step("get sa -n extra -o name"),
  step("create cm missing -n nowhere --from-literal=a=b"), // no such namespace
  step("get cm nothing"), // no such object
  step("get nonsense"), // no such kind
  step("get cm --field-selector metadata.name=conf -o name"),
  step("delete cm conf"),
  step("delete gadget g"),
  step("delete crd gadgets.kubectl.example.com"),
  step("delete ns extra --timeout=60s"),
];

/** What people do with a cluster all day. It takes Pods that run, which the nodes of both servers simulate. */
const DAY: readonly Step[] = [
  step("create deployment shop --image=nginx:1.27 --replicas=2"),
  step("rollout status deployment/shop --timeout=30s", "exit"), // how often it says that it waits is a matter of luck
  step("get deployment shop"),
  step("logs deployment/shop", "exit"),
  step("describe deployment shop", "exit"),
  step("describe pods -l app=shop", "exit"),
  step("expose deployment shop --port=80"),
  step("get service shop -o jsonpath={.spec.type},{.spec.ports[0].targetPort}"),
  step("wait --for=jsonpath={.subsets[0].ports[0].port}=80 endpoints/shop --timeout=30s"),
  step("scale deployment shop --replicas=3"),
  step("wait --for=jsonpath={.status.availableReplicas}=3 deployment/shop --timeout=30s"),
  step("set image deployment/shop nginx=nginx:1.28"),
  step("rollout status deployment/shop --timeout=30s", "exit"),
  step("rollout history deployment/shop"),
  step("rollout undo deployment/shop"),
  step("rollout status deployment/shop --timeout=30s", "exit"),
  step("get deployment shop -o jsonpath={..image},{.metadata.generation}"),
  step("rollout pause deployment/shop"),
  step("set env deployment/shop A=b"),
  step("get deployment shop -o jsonpath={.status.updatedReplicas}"),
  step("rollout resume deployment/shop"),
  step("rollout status deployment/shop --timeout=30s", "exit"),
  step("rollout history deployment/shop"),
  step("get pods -l app=shop --field-selector status.phase=Pending"),
  step("get events", "exit"),
  step("delete deployment shop --cascade=orphan"),
  step("get rs -l app=shop --no-headers -o custom-columns=R:.spec.replicas", "lines"),
  step("delete rs -l app=shop --cascade=foreground --timeout=60s", "lines"),
  step("get rs -l app=shop"),
  step("create job hello --image=busybox -- echo hi"),
  step("wait --for=condition=complete job/hello --timeout=30s"),
  step("get job hello"),
  step("delete job hello"),
  step("create cronjob tick --image=busybox --schedule=@hourly -- echo hi"),
  step("get cronjob tick"),
  step("create job now --from=cronjob/tick"),
  step("wait --for=condition=complete job/now --timeout=30s"),
  step("delete cronjob tick"),
  step("wait --for=delete job/now --timeout=30s"), // its owner is gone
  step("run one --image=nginx --restart=Never"),
  step("wait --for=condition=Ready pod/one --timeout=30s"),
  step("get pod one"),
  step("logs one", "exit"),
  step("delete pod one --grace-period=1"),
  step("run broken --image=registry.example/app:404 --restart=Never"),
  step(
    "wait --for=jsonpath={.status.containerStatuses[0].state.waiting.reason}=ImagePullBackOff pod/broken --timeout=30s",
  ),
  step("delete pod broken --now"),
  step("create namespace team"),
  step("create deployment a --image=nginx -n team"),
  step("rollout status deployment/a -n team --timeout=30s", "exit"),
  step("delete ns team --timeout=60s"),
  step("get ns team"),
  step("delete service shop"),
];

interface Answer {
  readonly code: number;
  readonly output: string;
}

describe.skipIf(missing)(`kubectl on both servers${missing ? ` (${missing})` : ""}`, () => {
  let servers: { embedded: TestServer; real: TestServer };
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "capstan-kubectl-"));
    const nodes = { count: 1 };
    const [embedded, real] = await Promise.all([
      startEmbedded("embedded", { nodes }),
      startControlPlane("real", { nodes }),
    ]);
    servers = { embedded, real };
    for (const [name, { kubeconfig }] of Object.entries(servers))
      await writeFile(join(dir, name), kubeconfigText(kubeconfig), { mode: 0o600 });
  }, 180_000);
  afterAll(async () => {
    await Promise.all([servers?.embedded.close(), servers?.real.close()]);
    await rm(dir, { recursive: true, force: true });
  }, 60_000);

  it("is there", () => expect(kubectls()).not.toEqual([]));

  for (const kubectl of kubectls()) {
    it(`${basename(kubectl)} sees no difference in ${STEPS.length} commands`, async () => {
      expect(await differences(kubectl, STEPS)).toBe("");
    }, 300_000);
  }

  const newest = kubectls().at(-1);
  it(`${basename(newest ?? "kubectl")} sees no difference in a day's work`, async () => {
    expect(await differences(newest ?? "", DAY)).toBe("");
  }, 300_000);

  async function differences(kubectl: string, steps: readonly Step[]): Promise<string> {
    const found: string[] = [];
    const run = (server: string, { args, input }: Step) =>
      answer(kubectl, join(dir, server), join(dir, `${server}-cache`), args, input);
    for (const each of steps) {
      const [embedded, real] = await Promise.all([run("embedded", each), run("real", each)]);
      if (embedded.code !== real.code || !isSame(embedded.output, real.output, each.same)) {
        found.push(
          `$ kubectl ${each.args}\n-- embedded (${embedded.code})\n${embedded.output}\n-- real (${real.code})\n${real.output}`,
        );
      }
    }
    return found.join("\n\n");
  }
});

function isSame(one: string, other: string, same: Sameness): boolean {
  if (same === "exit") return true;
  const sorted = (text: string) => text.split("\n").sort().join("\n");
  return same === "output" ? one === other : sorted(one) === sorted(other);
}

function answer(
  kubectl: string,
  kubeconfig: string,
  cache: string,
  args: string,
  input: string | undefined,
): Promise<Answer> {
  return new Promise((resolve) => {
    const all = ["--kubeconfig", kubeconfig, "--cache-dir", cache, ...args.split(" ")];
    const child = execFile(
      kubectl,
      all,
      { timeout: 90_000, env: { PATH: process.env.PATH ?? "", HOME: dirname(kubeconfig) } },
      (error, stdout, stderr) => {
        const code = error ? (typeof error.code === "number" ? error.code : -1) : 0;
        resolve({ code, output: normalized(`${stdout}${stderr}`) });
      },
    );
    child.stdin?.end(input ?? "");
  });
}

/** Without what differs between any two servers: ages, identities, versions, times. */
function normalized(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/version difference between client|^W\d{4} /.test(line))
    .join("\n")
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
    .replace(/resourceVersion: "\d+"/g, "resourceVersion: RV")
    .replace(/(?<=shop)-[a-z0-9]{8,10}\b/g, "-HASH")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "TIME")
    .replace(/(?<=\s)(\d+[smhd])+(?=\s|$)/gm, "AGE")
    .replace(/ {2,}/g, "  ")
    .trim();
}
