/** The RBAC group: what may be done, and by whom. That nobody grants more than they hold is checked elsewhere. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { dns1123Subdomain, pathSegment } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { at, ensure, type Fields, fieldsAt, fillText, listAt, objectsAt, textAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { roleBindings as bindingTable } from "./tables/groups.ts";
import { immutable } from "./validation.ts";

const GROUP = "rbac.authorization.k8s.io";

const COMMON = { group: GROUP, version: "v1", nameRule: "path-segment", createOnUpdate: true } as const;

const roles = resource({
  ...COMMON,
  kind: "Role",
  plural: "roles",
  namespaced: true,
  validate: (role) => ruleErrors(role, true),
});

const clusterRoles = resource({
  ...COMMON,
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
  validate(role) {
    const errors = ruleErrors(role, false);
    if (isObject(role.aggregationRule) && listAt(role, "aggregationRule", "clusterRoleSelectors").length === 0) {
      errors.push(
        field.required(
          "aggregationRule.clusterRoleSelectors",
          "at least one clusterRoleSelector required if aggregationRule is non-nil",
        ),
      );
    }
    return errors;
  },
});

function binding(kind: string, plural: string, namespaced: boolean): Resource {
  return resource({
    ...COMMON,
    kind,
    plural,
    namespaced,
    table: bindingTable,
    default: defaultBinding,
    validate: (object) => bindingErrors(object, namespaced),
    validateChange: (object, current) => immutable("roleRef", shownRoleRef(object), shownRoleRef(current)),
  });
}

export const rbacResources: readonly Resource[] = [
  roles,
  clusterRoles,
  binding("RoleBinding", "rolebindings", true),
  binding("ClusterRoleBinding", "clusterrolebindings", false),
];

function defaultBinding(draft: DynamicObject): void {
  fillText(ensure(draft, "roleRef"), { apiGroup: GROUP });
  for (const subject of objectsAt(draft, "subjects")) {
    if (subject.kind === "User" || subject.kind === "Group") fillText(subject, { apiGroup: GROUP });
  }
}

/** Error texts show a roleRef under the names of its Go fields. */
function shownRoleRef(binding: DynamicObject): Fields {
  const { apiGroup, kind, name } = fieldsAt(binding, "roleRef");
  return { APIGroup: apiGroup, Kind: kind, Name: name };
}

function ruleErrors(role: DynamicObject, namespaced: boolean): FieldError[] {
  return objectsAt(role, "rules").flatMap((rule, index) => {
    const path = `rules[${index}]`;
    const has = (key: string) => listAt(rule, key).length > 0;
    const errors = has("verbs") ? [] : [field.required(`${path}.verbs`, "verbs must contain at least one value")];
    if (has("nonResourceURLs")) {
      const urls = rule.nonResourceURLs;
      if (namespaced) {
        errors.push(
          field.invalid(`${path}.nonResourceURLs`, urls, "namespaced rules cannot apply to non-resource URLs"),
        );
      }
      if (has("apiGroups") || has("resources") || has("resourceNames")) {
        const problem = "rules cannot apply to both regular resources and non-resource URLs";
        errors.push(field.invalid(`${path}.nonResourceURLs`, urls, problem));
      }
      return errors;
    }
    if (!has("apiGroups"))
      errors.push(field.required(`${path}.apiGroups`, "resource rules must supply at least one api group"));
    if (!has("resources"))
      errors.push(field.required(`${path}.resources`, "resource rules must supply at least one resource"));
    return errors;
  });
}

function bindingErrors(object: DynamicObject, namespaced: boolean): FieldError[] {
  const { apiGroup, kind } = fieldsAt(object, "roleRef");
  const name = textAt(object, "roleRef", "name");
  const kinds = namespaced ? ["Role", "ClusterRole"] : ["ClusterRole"];
  const errors: FieldError[] = [];
  if (apiGroup !== GROUP) errors.push(field.notSupported("roleRef.apiGroup", apiGroup, [GROUP]));
  if (!kinds.some((known) => known === kind)) errors.push(field.notSupported("roleRef.kind", kind, kinds));
  if (name === "") errors.push(field.required("roleRef.name"));
  else errors.push(...pathSegment(name).map((problem) => field.invalid("roleRef.name", name, problem)));
  objectsAt(object, "subjects").forEach((subject, index) => {
    errors.push(...subjectErrors(subject, `subjects[${index}]`, namespaced));
  });
  return errors;
}

function subjectErrors(subject: Fields, path: string, namespaced: boolean): FieldError[] {
  const name = textAt(subject, "name");
  const group = textAt(subject, "apiGroup");
  const errors: FieldError[] = name === "" ? [field.required(`${path}.name`)] : [];
  switch (at(subject, "kind")) {
    case "ServiceAccount":
      if (name) errors.push(...dns1123Subdomain(name).map((problem) => field.invalid(`${path}.name`, name, problem)));
      if (group) errors.push(field.notSupported(`${path}.apiGroup`, group, [""]));
      if (!namespaced && !textAt(subject, "namespace")) errors.push(field.required(`${path}.namespace`));
      return errors;
    case "User":
    case "Group":
      if (group !== GROUP) errors.push(field.notSupported(`${path}.apiGroup`, group, [GROUP]));
      return errors;
    default:
      errors.push(field.notSupported(`${path}.kind`, subject.kind, ["ServiceAccount", "User", "Group"]));
      return errors;
  }
}
