/** The members of a set as text: one a line, in a form that survives every name that a server allows. */
import { compareIds, groupVersionOf, type ObjectId } from "../identity.ts";

/** In an order that is always the same. */
export function memberList(members: readonly ObjectId[]): string {
  return [...members].sort(compareIds).map(lineOf).join("\n");
}

/** What a list says; undefined when it makes no sense. */
export function membersIn(text: string): ObjectId[] | undefined {
  const members = text
    .split("\n")
    .filter((line) => line !== "")
    .map(memberIn);
  return members.every((member) => member !== undefined) ? members : undefined;
}

function lineOf({ group, version, kind, namespace = "", name }: ObjectId): string {
  return JSON.stringify([group === "" ? version : `${group}/${version}`, kind, namespace, name]);
}

function memberIn(line: string): ObjectId | undefined {
  const parts = parsed(line);
  const isMember = Array.isArray(parts) && parts.length === 4 && parts.every((part) => typeof part === "string");
  if (!isMember) return undefined;
  const [apiVersion, kind, namespace, name] = parts as [string, string, string, string];
  return { ...groupVersionOf(apiVersion), kind, ...(namespace !== "" && { namespace }), name };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
