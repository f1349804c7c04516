/** ServiceCIDRs, out of which Services are given addresses, and IPAddresses, which tell who has which. */
import type { DynamicObject } from "#api/meta";
import { parseBlock } from "#lib/ip";
import { dns1123Subdomain, pathSegment } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, fieldsAt, isAbsent, textAt, textsAt } from "./fields.ts";
import { blockErrors, canonicalIpErrors } from "./ip-rules.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { ageColumn, column, layout, NONE, nameColumn } from "./tables/layout.ts";
import { immutable } from "./validation.ts";

const networking = (kind: string): GroupVersionKind => ({ group: "networking.k8s.io", version: "v1", kind });
const IMMUTABLE = "field is immutable";

const serviceCidrs = resource({
  ...networking("ServiceCIDR"),
  plural: "servicecidrs",
  namespaced: false,
  table: layout(
    nameColumn,
    column("CIDRs", "The blocks of addresses.", (object) => textsAt(object, "spec", "cidrs").join(",")),
    ageColumn,
  ),
  hasStatus: true,
  validate: (object) => rangeErrors(textsAt(object, "spec", "cidrs")),
  validateChange: (object, current) =>
    rangeChangeErrors(textsAt(object, "spec", "cidrs"), textsAt(current, "spec", "cidrs")),
  subresources: [statusOf(networking("ServiceCIDR"))],
});

function rangeErrors(blocks: readonly string[]): FieldError[] {
  const path = "spec.cidrs";
  if (blocks.length === 0) return [field.required(path, "at least one CIDR required")];
  if (blocks.length > 2) return [field.invalid(path, blocks, "may only hold up to 2 values")];
  const families = blocks.map((block) => parseBlock(block)?.address.family);
  const isSameFamily = blocks.length === 2 && families[0] !== undefined && families[0] === families[1];
  return [
    ...blocks.flatMap((block, index) => blockErrors(`${path}[${index}]`, block)),
    ...(isSameFamily ? [field.invalid(path, blocks, "may specify no more than one IP for each IP family")] : []),
  ];
}

/** A second family may be added; nothing else, because addresses have been given out. */
function rangeChangeErrors(blocks: readonly string[], before: readonly string[]): FieldError[] {
  const path = "spec.cidrs";
  const isExtended = before.length === 1 && blocks.length === 2;
  if (blocks.length !== before.length && !isExtended) return [field.invalid(path, blocks, IMMUTABLE)];
  return before.flatMap((block, index) =>
    blocks[index] === block ? [] : [field.invalid(`${path}[${index}]`, blocks[index], IMMUTABLE)],
  );
}

const ipAddresses = resource({
  ...networking("IPAddress"),
  plural: "ipaddresses",
  namespaced: false,
  shortNames: ["ip"],
  nameRule: "path-segment",
  table: layout(nameColumn, column("ParentRef", "What the address belongs to.", parentText)),
  validate: (object) => [...canonicalIpErrors("metadata.name", object.metadata.name), ...parentErrors(object)],
  validateChange: (object, current) =>
    immutable("spec.parentRef", at(object, "spec", "parentRef"), at(current, "spec", "parentRef")),
});

function parentText(object: DynamicObject): string {
  const { group, resource: plural, namespace, name } = fieldsAt(object, "spec", "parentRef");
  if (!name) return NONE;
  return [group ? `${plural}.${group}` : plural, namespace, name].filter(Boolean).join("/").toLowerCase();
}

function parentErrors(object: DynamicObject): FieldError[] {
  const path = "spec.parentRef";
  const parent = at(object, "spec", "parentRef");
  if (isAbsent(parent)) return [field.required(path)];
  const group = textAt(parent, "group");
  return [
    ...(group ? dns1123Subdomain(group).map((problem) => field.invalid(`${path}.group`, group, problem)) : []),
    ...["resource", "name", "namespace"].flatMap((key) => {
      const value = textAt(parent, key);
      if (value === "") return key === "namespace" ? [] : [field.required(`${path}.${key}`)];
      return pathSegment(value).map((problem) => field.invalid(`${path}.${key}`, value, problem));
    }),
  ];
}

export const serviceRangeResources: readonly Resource[] = [serviceCidrs, ipAddresses];
