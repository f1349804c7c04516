/** Events: one kind in two groups. They are stored as the core group has them. */
import type { DynamicObject } from "#api/meta";
import { type FieldError, field } from "../errors.ts";
import type { Resource, Strategy, TableLayout } from "../resource.ts";
import { at, type Fields, fill, isAbsent, textAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { events as table } from "./tables/core.ts";

const GROUP = "events.k8s.io";

/** The fields that have another name in events.k8s.io. */
const NAMES: readonly (readonly [core: string, renamed: string])[] = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["count", "deprecatedCount"],
  ["reportingComponent", "reportingController"],
];

const COMMON = {
  kind: "Event",
  version: "v1",
  plural: "events",
  namespaced: true,
  shortNames: ["ev"],
  storage: "core/events",
  createOnUpdate: true,
  dependents: "ignored",
} as const;

const REFERENCE = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"] as const;

export const events: Resource = resource({
  ...COMMON,
  group: "",
  table,
  selectableFields: {
    ...references("involvedObject"),
    reason: (event) => textAt(event, "reason"),
    reportingComponent: (event) => textAt(event, "reportingComponent"),
    source: (event) => textAt(event, "source", "component") || textAt(event, "reportingComponent"),
    type: (event) => textAt(event, "type"),
  },
  default: zeroFields,
  validate: placeErrors,
});

export const renamedEvents: Resource = resource({
  ...COMMON,
  group: GROUP,
  table: { columns: table.columns, row: (event, now) => table.row(toCore(event), now) } satisfies TableLayout,
  selectableFields: {
    ...references("regarding"),
    reason: (event) => textAt(event, "reason"),
    reportingController: (event) => textAt(event, "reportingComponent"),
    type: (event) => textAt(event, "type"),
  },
  toStored: toCore,
  present: fromCore,
  default: zeroFields,
  validate(event) {
    const errors = placeErrors(event);
    for (const key of ["reportingComponent", "reportingInstance", "action", "reason"]) {
      const name = key === "reportingComponent" ? "reportingController" : key;
      if (!textAt(event, key) && !isAbsent(at(event, "eventTime"))) errors.push(field.required(name));
    }
    return errors;
  },
});

function references(prefix: string): Strategy["selectableFields"] {
  const read = (key: string) => (event: DynamicObject) => textAt(event, "involvedObject", key);
  return Object.fromEntries(REFERENCE.map((key) => [`${prefix}.${key}`, read(key)]));
}

/** Fields that the core group always shows. */
function zeroFields(event: Fields): void {
  fill(event, { source: {}, reportingComponent: "", reportingInstance: "" });
  for (const time of ["firstTimestamp", "lastTimestamp", "eventTime"]) event[time] ??= null;
}

function toCore(event: DynamicObject): DynamicObject {
  if (event.apiVersion !== `${GROUP}/v1`) return event;
  const core: DynamicObject = { ...event, apiVersion: "v1" };
  for (const [name, renamed] of NAMES) move(core, renamed, name);
  fill(core, { involvedObject: {} });
  zeroFields(core);
  return core;
}

function fromCore(stored: DynamicObject): DynamicObject {
  const event: DynamicObject = { ...stored, apiVersion: `${GROUP}/v1` };
  for (const [name, renamed] of NAMES) move(event, name, renamed);
  for (const key of ["reportingController", "reportingInstance"]) if (event[key] === "") delete event[key];
  return event;
}

function move(event: DynamicObject, from: string, to: string): void {
  if (!Object.hasOwn(event, from)) return;
  event[to] = event[from];
  delete event[from];
}

/** An event lies where its object lies; those of cluster-wide objects lie in `default`. */
function placeErrors(event: DynamicObject): FieldError[] {
  const about = textAt(event, "involvedObject", "namespace");
  const { namespace = "" } = event.metadata;
  if (about === namespace) return [];
  if (about === "" && (namespace === "default" || namespace === "kube-system")) return [];
  return [field.invalid("involvedObject.namespace", about, "does not match event.namespace")];
}
