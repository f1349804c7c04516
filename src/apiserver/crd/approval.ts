/** The approval that definitions in groups of the Kubernetes community must name. */
import { API_APPROVED_ANNOTATION, type CustomResourceDefinition } from "#api/apiextensions";
import type { ConditionStatus } from "#api/meta";
import { type FieldError, field } from "../errors.ts";

export interface Approval {
  readonly status: ConditionStatus;
  readonly reason: "ApprovedAnnotation" | "UnapprovedAnnotation" | "MissingAnnotation" | "InvalidAnnotation";
  readonly message: string;
}

/** What the definition says of its approval; undefined where its group needs none. */
export function approvalOf({ spec, metadata }: CustomResourceDefinition): Approval | undefined {
  if (!isCommunityGroup(spec.group)) return undefined;
  const said = metadata.annotations?.[API_APPROVED_ANNOTATION];
  if (!said) {
    return {
      status: "False",
      reason: "MissingAnnotation",
      message: `protected groups must have approval annotation "${API_APPROVED_ANNOTATION}"`,
    };
  }
  if (said.startsWith("unapproved")) {
    return { status: "False", reason: "UnapprovedAnnotation", message: `not approved: "${said}"` };
  }
  if (URL.canParse(said) && new URL(said).host !== "") {
    return { status: "True", reason: "ApprovedAnnotation", message: `approved in ${said}` };
  }
  const message = `protected groups must have approval annotation "${API_APPROVED_ANNOTATION}" with a URL or a text that starts with "unapproved"`;
  return { status: "False", reason: "InvalidAnnotation", message };
}

/** A missing or malformed approval is refused, unless the stored definition already had the same fault. */
export function approvalErrors(definition: CustomResourceDefinition, current?: CustomResourceDefinition): FieldError[] {
  const approval = approvalOf(definition);
  if (!approval || approval.reason === (current && approvalOf(current)?.reason)) return [];
  const path = `metadata.annotations[${API_APPROVED_ANNOTATION}]`;
  if (approval.reason === "MissingAnnotation") return [field.required(path, approval.message)];
  if (approval.reason !== "InvalidAnnotation") return [];
  return [field.invalid(path, definition.metadata.annotations?.[API_APPROVED_ANNOTATION], approval.message)];
}

/** `about.k8s.io` is the community's; `multicluster.x-k8s.io` is an experiment and free. */
function isCommunityGroup(group: string): boolean {
  return /(^|\.)(k8s|kubernetes)\.io$/.test(group);
}
