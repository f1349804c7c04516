/** What is wrong with the wish for a Pod, and with a template of Pods. */
import type { LabelSelector } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { dns1123Label, dns1123Subdomain } from "#lib/names";
import { labelSelector, SelectorError } from "#lib/selectors";
import { type FieldError, field } from "../errors.ts";
import { at, type Fields, fieldsAt, isAbsent, objectsAt, textAt, textMapAt } from "./fields.ts";
import { validateLabels } from "./validation.ts";

const LARGEST_PORT = 65_535;
const PORT_RANGE = "must be between 1 and 65535, inclusive";

export const PROTOCOLS = ["SCTP", "TCP", "UDP"] as const;

/** A template: labels and the Pods' spec. `restartPolicies` are those that the workload can live with. */
export function validatePodTemplate(template: unknown, path: string, restartPolicies: readonly string[]): FieldError[] {
  const errors = [
    ...validateLabels(Object.fromEntries(textMapAt(template, "metadata", "labels")), `${path}.metadata.labels`),
    ...validatePodSpec(fieldsAt(template, "spec"), `${path}.spec`),
  ];
  const policy = textAt(template, "spec", "restartPolicy");
  if (RESTART_POLICIES.has(policy) && !restartPolicies.includes(policy)) {
    errors.push(field.notSupported(`${path}.spec.restartPolicy`, policy, restartPolicies));
  }
  return errors;
}

const RESTART_POLICIES: ReadonlySet<string> = new Set(["Always", "Never", "OnFailure"]);

export function validatePodSpec(spec: Fields, path: string): FieldError[] {
  const volumes = new Set(objectsAt(spec, "volumes").map((volume) => textAt(volume, "name")));
  const errors = validateVolumes(spec, `${path}.volumes`);
  const names = new Set<string>();
  if (objectsAt(spec, "containers").length === 0) errors.push(field.required(`${path}.containers`));
  for (const list of ["containers", "initContainers"]) {
    objectsAt(spec, list).forEach((container, index) => {
      errors.push(...validateContainer(container, `${path}.${list}[${index}]`, { names, volumes }));
    });
  }
  errors.push(...oneOf(spec, "restartPolicy", [...RESTART_POLICIES], path));
  errors.push(...oneOf(spec, "dnsPolicy", ["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"], path));
  const grace = at(spec, "terminationGracePeriodSeconds");
  if (typeof grace === "number" && grace < 0) {
    errors.push(field.invalid(`${path}.terminationGracePeriodSeconds`, grace, "must be greater than or equal to 0"));
  }
  const account = textAt(spec, "serviceAccountName");
  if (account) {
    errors.push(
      ...dns1123Subdomain(account).map((problem) => field.invalid(`${path}.serviceAccountName`, account, problem)),
    );
  }
  const node = textAt(spec, "nodeName");
  if (node) errors.push(...dns1123Subdomain(node).map((problem) => field.invalid(`${path}.nodeName`, node, problem)));
  return errors;
}

function validateVolumes(spec: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  objectsAt(spec, "volumes").forEach((volume, index) => {
    errors.push(...validateName(volume, `${path}[${index}].name`, names));
    const sources = Object.keys(volume).filter((key) => key !== "name" && !isAbsent(volume[key]));
    if (sources.length > 1) {
      errors.push(field.forbidden(`${path}[${index}].${sources[1]}`, "may not specify more than 1 volume type"));
    }
  });
  return errors;
}

function validateContainer(
  container: Fields,
  path: string,
  { names, volumes }: { names: Set<string>; volumes: ReadonlySet<string> },
): FieldError[] {
  const errors = validateName(container, `${path}.name`, names);
  const image = textAt(container, "image");
  if (image === "") errors.push(field.required(`${path}.image`));
  else if (image !== image.trim())
    errors.push(field.invalid(`${path}.image`, image, "must not have leading or trailing whitespace"));
  errors.push(...validatePorts(container, `${path}.ports`));
  objectsAt(container, "env").forEach((variable, index) => {
    const at = `${path}.env[${index}]`;
    if (!textAt(variable, "name")) errors.push(field.required(`${at}.name`));
    if (isObject(variable.valueFrom) && textAt(variable, "value")) {
      errors.push(field.invalid(`${at}.valueFrom`, "", "may not be specified when `value` is not empty"));
    }
  });
  const mounted = new Set<string>();
  objectsAt(container, "volumeMounts").forEach((mount, index) => {
    const at = `${path}.volumeMounts[${index}]`;
    const name = textAt(mount, "name");
    const mountPath = textAt(mount, "mountPath");
    if (name === "") errors.push(field.required(`${at}.name`));
    else if (!volumes.has(name)) errors.push(field.notFound(`${at}.name`, name));
    if (mountPath === "") errors.push(field.required(`${at}.mountPath`));
    else if (mounted.has(mountPath)) errors.push(field.invalid(`${at}.mountPath`, mountPath, "must be unique"));
    mounted.add(mountPath);
  });
  errors.push(...oneOf(container, "imagePullPolicy", ["Always", "IfNotPresent", "Never"], path));
  errors.push(...oneOf(container, "terminationMessagePolicy", ["FallbackToLogsOnError", "File"], path));
  return errors;
}

function validateName(fields: Fields, path: string, names: Set<string>): FieldError[] {
  const name = textAt(fields, "name");
  if (name === "") return [field.required(path)];
  const errors = dns1123Label(name).map((problem) => field.invalid(path, name, problem));
  if (names.has(name)) errors.push(field.duplicate(path, name));
  names.add(name);
  return errors;
}

function validatePorts(container: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  objectsAt(container, "ports").forEach((port, index) => {
    const at = `${path}[${index}]`;
    const name = textAt(port, "name");
    if (name !== "" && names.has(name)) errors.push(field.duplicate(`${at}.name`, name));
    names.add(name);
    if (!port.containerPort) errors.push(field.required(`${at}.containerPort`));
    else if (!isPort(port.containerPort))
      errors.push(field.invalid(`${at}.containerPort`, port.containerPort, PORT_RANGE));
    if (port.hostPort && !isPort(port.hostPort))
      errors.push(field.invalid(`${at}.hostPort`, port.hostPort, PORT_RANGE));
    errors.push(...oneOf(port, "protocol", PROTOCOLS, at));
  });
  return errors;
}

export function isPort(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 1 && Number(value) <= LARGEST_PORT;
}

/** Says that a field must hold one of a few texts. */
export function oneOf(fields: Fields, key: string, allowed: readonly string[], path: string): FieldError[] {
  const value = at(fields, key);
  const where = path === "" ? key : `${path}.${key}`;
  if (isAbsent(value) || value === "") return [field.required(where)];
  return allowed.some((known) => known === value) ? [] : [field.notSupported(where, value, allowed)];
}

/** A workload's selector: there, not empty, well formed, and choosing the Pods of its own template. */
export function validateSelector(object: Fields, kind: string): FieldError[] {
  const selector = at(object, "spec", "selector");
  const labels = Object.fromEntries(textMapAt(object, "spec", "template", "metadata", "labels"));
  const mismatch = field.invalid(
    "spec.template.metadata.labels",
    Object.keys(labels).length === 0 ? null : labels,
    "`selector` does not match template `labels`",
  );
  if (!isObject(selector)) return [field.required("spec.selector"), mismatch];
  const isEmpty =
    textMapAt(selector, "matchLabels").length === 0 && objectsAt(selector, "matchExpressions").length === 0;
  if (isEmpty) return [field.invalid("spec.selector", selector, `empty selector is invalid for ${kind}`)];
  try {
    return labelSelector(selector as LabelSelector).matches(labels) ? [] : [mismatch];
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return [field.invalid("spec.selector", selector, error.message)];
  }
}

/** A count that may be absent but not negative. */
export function notNegative(object: unknown, ...path: readonly string[]): FieldError[] {
  const value = at(object, ...path);
  return typeof value === "number" && value < 0
    ? [field.invalid(path.join("."), value, "must be greater than or equal to 0")]
    : [];
}

const POD_CHANGES =
  "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/** What may not change once a Pod exists. */
export function validatePodChange(spec: Fields, current: Fields): FieldError[] {
  const kept = objectsAt(current, "tolerations").every((before) =>
    objectsAt(spec, "tolerations").some((after) =>
      equal({ ...after, tolerationSeconds: 0 }, { ...before, tolerationSeconds: 0 }),
    ),
  );
  if (!kept)
    return [
      field.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds"),
    ];
  const gates = new Set(objectsAt(current, "schedulingGates").map(({ name }) => name));
  if (objectsAt(spec, "schedulingGates").some(({ name }) => !gates.has(name))) {
    return [field.forbidden("spec.schedulingGates", "only deletion is allowed")];
  }
  return equal(unchangeable(spec), unchangeable(current)) ? [] : [field.forbidden("spec", POD_CHANGES)];
}

function unchangeable(spec: Fields): Fields {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    terminationGracePeriodSeconds: _grace,
    schedulingGates: _gates,
    ephemeralContainers: _ephemeral,
    ...rest
  } = spec;
  const withoutImages = (list: string) => objectsAt(spec, list).map(({ image: _, ...container }) => container);
  return { ...rest, containers: withoutImages("containers"), initContainers: withoutImages("initContainers") };
}
