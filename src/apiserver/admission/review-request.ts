/** What a webhook is told about an operation, beside the objects. */
import { randomUUID } from "node:crypto";
import type { AdmissionRequest } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import type { AdmissionQuestion, Target } from "../registry/index.ts";
import type { GroupVersionKind, Resource, UserInfo } from "../resource.ts";

/** All but the objects and the name of the conversation. */
export type RequestFacts = Omit<AdmissionRequest, "uid" | "object" | "oldObject">;

/** `version` is the version of the resource that the webhook asked for. */
export function factsOf(question: AdmissionQuestion, version: Resource): RequestFacts {
  const { target, operation, options, context } = question;
  const part = target.subresource?.name;
  const name = nameOf(question);
  const namespace = namespaceOf(question);
  return {
    kind: kindOf(version, part),
    resource: resourceOf(version),
    ...(part !== undefined && { subResource: part }),
    requestKind: kindOf(target.resource, part),
    requestResource: resourceOf(target.resource),
    ...(part !== undefined && { requestSubResource: part }),
    ...(name && { name }),
    ...(namespace && { namespace }),
    operation,
    userInfo: userInfoOf(context.user),
    dryRun: context.dryRun,
    options: { ...options },
  };
}

/** Written in the order in which people know it. */
export function requestWith(
  { dryRun, options, ...facts }: RequestFacts,
  object: DynamicObject | undefined,
  oldObject: DynamicObject | undefined,
): AdmissionRequest {
  return { uid: randomUUID(), ...facts, object: object ?? null, oldObject: oldObject ?? null, dryRun, options };
}

export function nameOf({ target, object }: Pick<AdmissionQuestion, "target" | "object">): string {
  // What is posted to a subresource may have a name of its own; the request is about the object that has it.
  return target.name || (target.subresource ? "" : (object?.metadata.name ?? ""));
}

/** A Namespace lies in itself, as far as admission is concerned. */
export function namespaceOf(question: Pick<AdmissionQuestion, "target" | "object">): string {
  return isNamespace(question.target) ? nameOf(question) : (question.target.namespace ?? "");
}

export function isNamespace({ resource }: Target): boolean {
  return resource.storage === "core/namespaces";
}

/** Whether an operation is about objects of the resource, and not about views of them or what is merely answered. */
export function isAboutObjects({ resource, subresource }: Pick<Target, "resource" | "subresource">): boolean {
  return !subresource?.view && !subresource?.answer && !resource.answer;
}

function kindOf(resource: Resource, subresource: string | undefined): GroupVersionKind {
  const { group, version, kind } =
    resource.subresources.find(({ name }) => name === subresource)?.responseKind ?? resource;
  return { group, version, kind };
}

function resourceOf({ group, version, plural }: Resource): AdmissionRequest["resource"] {
  return { group, version, resource: plural };
}

function userInfoOf({ username, uid, groups, extra }: UserInfo): AdmissionRequest["userInfo"] {
  return {
    username,
    ...(uid !== undefined && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra && {
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    }),
  };
}
