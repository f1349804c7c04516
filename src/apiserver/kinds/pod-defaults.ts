/** What a Pod, or a template of Pods, gets where it says nothing. */
import { isObject } from "#lib/json";
import { at, ensure, type Fields, fieldsAt, fill, fillText, isAbsent, numberAt, objectsAt, textAt } from "./fields.ts";

/** The template in a workload's spec. */
export function defaultPodTemplate(template: Fields): void {
  ensure(template, "metadata");
  defaultPodSpec(ensure(template, "spec"));
}

export function defaultPodSpec(spec: Fields): void {
  fillText(spec, { restartPolicy: "Always", dnsPolicy: "ClusterFirst", schedulerName: "default-scheduler" });
  fill(spec, { terminationGracePeriodSeconds: 30, securityContext: {} });
  // The old name of the field is served beside the new one, in templates as in Pods.
  const account = textAt(spec, "serviceAccountName") || textAt(spec, "serviceAccount");
  if (account) Object.assign(spec, { serviceAccountName: account, serviceAccount: account });

  for (const volume of objectsAt(spec, "volumes")) defaultVolume(volume);
  for (const container of containersOf(spec)) defaultContainer(container, spec.hostNetwork === true);
}

/** Defaults of Pods alone; a template leaves them to the Pods made from it. */
export function defaultPod(spec: Fields): void {
  defaultPodSpec(spec);
  fill(spec, { enableServiceLinks: true });
  for (const container of containersOf(spec)) {
    const limits = fieldsAt(container, "resources", "limits");
    if (Object.keys(limits).length === 0) continue;
    fill(ensure(ensure(container, "resources"), "requests"), limits);
  }
}

/** Init, ordinary and ephemeral containers. */
export function containersOf(spec: unknown): Fields[] {
  return ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
}

function defaultContainer(container: Fields, hostNetwork: boolean): void {
  fillText(container, {
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
    imagePullPolicy: pullPolicyFor(textAt(container, "image")),
  });
  fill(container, { resources: {} });
  for (const port of objectsAt(container, "ports")) {
    fillText(port, { protocol: "TCP" });
    if (hostNetwork && !port.hostPort) port.hostPort = port.containerPort;
  }
  for (const variable of objectsAt(container, "env")) defaultFieldRef(fieldsAt(variable, "valueFrom"));
  for (const probe of ["livenessProbe", "readinessProbe", "startupProbe"]) {
    if (isObject(container[probe])) defaultProbe(container[probe]);
  }
  for (const hook of ["postStart", "preStop"]) defaultHttpGet(fieldsAt(container, "lifecycle", hook));
}

/** An image that may change under its name is looked for every time. */
export function pullPolicyFor(image: string): "Always" | "IfNotPresent" {
  const [name = ""] = image.split("@", 1);
  const colon = name.lastIndexOf(":");
  const tag = colon > name.lastIndexOf("/") ? name.slice(colon + 1) : "";
  if (tag !== "") return tag === "latest" ? "Always" : "IfNotPresent";
  return image.includes("@") ? "IfNotPresent" : "Always";
}

function defaultProbe(probe: Fields): void {
  for (const [key, value] of Object.entries({
    timeoutSeconds: 1,
    periodSeconds: 10,
    successThreshold: 1,
    failureThreshold: 3,
  })) {
    if (!numberAt(probe, key)) probe[key] = value;
  }
  defaultHttpGet(probe);
  if (isObject(probe.grpc)) fill(probe.grpc, { service: "" });
}

function defaultHttpGet(handler: Fields): void {
  if (isObject(handler.httpGet)) fillText(handler.httpGet, { path: "/", scheme: "HTTP" });
}

function defaultFieldRef(source: Fields): void {
  if (isObject(source.fieldRef)) fillText(source.fieldRef, { apiVersion: "v1" });
}

const FILE_MODE = 0o644;

function defaultVolume(volume: Fields): void {
  const sources = Object.keys(volume).filter((key) => key !== "name" && !isAbsent(volume[key]));
  if (sources.length === 0) volume.emptyDir = {};
  for (const source of ["secret", "configMap", "downwardAPI", "projected"]) {
    if (isObject(volume[source])) fill(volume[source], { defaultMode: FILE_MODE });
  }
  if (isObject(volume.hostPath)) fill(volume.hostPath, { type: "" });
  const projections = objectsAt(volume, "projected", "sources");
  for (const projection of projections) {
    if (isObject(projection.serviceAccountToken)) fill(projection.serviceAccountToken, { expirationSeconds: 3600 });
  }
  for (const holder of [volume, ...projections]) {
    for (const item of objectsAt(holder, "downwardAPI", "items")) defaultFieldRef(item);
  }
  const claim = at(volume, "ephemeral", "volumeClaimTemplate", "spec");
  if (isObject(claim)) fillText(claim, { volumeMode: "Filesystem" });
}
