/** Metadata that belongs to the server: filled in on create, kept on update, never taken from a client. */
import { randomInt, randomUUID } from "node:crypto";
import type { DynamicObject, ObjectMeta } from "#api/meta";
import { timestamp } from "#lib/clock";
import { equal } from "#lib/json";
import { badRequest, conflict, field, invalid, OBJECT_MODIFIED, plainError } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { kindSubjectOf, type NamedTarget, subjectOf, type Target } from "./target.ts";

/** No vowels and no digits that look like letters, so that no generated name spells anything. */
const SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
const LONGEST_GENERATED = 63;

export function generatedName(base: string): string {
  const suffix = Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_ALPHABET[randomInt(SUFFIX_ALPHABET.length)]);
  return base.slice(0, LONGEST_GENERATED - SUFFIX_LENGTH) + suffix.join("");
}

/** The namespace of an object is the URL's; a body that names another one is a mistake. */
export function settleNamespace(draft: DynamicObject, { resource, namespace }: Target): void {
  const said = draft.metadata.namespace ?? "";
  if (said !== "" && said !== (namespace ?? "")) {
    if (!resource.namespaced) {
      throw invalid(kindSubjectOf({ resource, name: draft.metadata.name }), [
        field.forbidden("metadata.namespace", "not allowed on this type"),
      ]);
    }
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace !== undefined) draft.metadata.namespace = namespace;
  else delete draft.metadata.namespace;
}

/** A new object has none of this yet, whatever the request says. */
export function wipeForCreate({ metadata }: DynamicObject): void {
  const wiped: Partial<ObjectMeta> & { selfLink?: string } = metadata;
  delete wiped.uid;
  delete wiped.creationTimestamp;
  delete wiped.deletionTimestamp;
  delete wiped.deletionGracePeriodSeconds;
  delete wiped.selfLink;
}

export function fillForCreate({ metadata }: DynamicObject, resource: Resource, now: Date): void {
  if (metadata.resourceVersion) throw plainError("resourceVersion should not be set on objects to be created");
  delete metadata.resourceVersion;
  metadata.uid = randomUUID();
  metadata.creationTimestamp = timestamp(now);
  if (resource.strategy.tracksGeneration) metadata.generation = 1;
}

/** Refuses an update of another object, or of another state of it, than the client read. */
export function checkPreconditions(draft: DynamicObject, current: DynamicObject, target: NamedTarget): void {
  const { metadata } = draft;
  if (metadata.uid && metadata.uid !== current.metadata.uid) {
    throw conflict(
      subjectOf(target),
      `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${current.metadata.uid}`,
    );
  }
  const said = metadata.resourceVersion ?? "";
  if (said === "" || said === "0") {
    if (!target.resource.strategy.unconditionalUpdate) {
      throw invalid(subjectOf(target), [
        field.invalid("metadata.resourceVersion", 0, "must be specified for an update"),
      ]);
    }
    return;
  }
  if (said !== current.metadata.resourceVersion) throw conflict(subjectOf(target), OBJECT_MODIFIED);
}

/** Puts back what an update cannot change. */
export function keepSystemMetadata(draft: DynamicObject, current: DynamicObject): void {
  const { metadata } = draft;
  const kept = current.metadata;
  metadata.name = kept.name;
  assign(metadata, "namespace", kept.namespace);
  assign(metadata, "uid", kept.uid);
  assign(metadata, "creationTimestamp", kept.creationTimestamp);
  assign(metadata, "deletionTimestamp", kept.deletionTimestamp);
  assign(metadata, "deletionGracePeriodSeconds", kept.deletionGracePeriodSeconds);
  assign(metadata, "generation", kept.generation);
  assign(metadata, "resourceVersion", kept.resourceVersion);
}

/** The generation counts changes of the wish: everything but metadata and status. */
export function countGeneration(draft: DynamicObject, current: DynamicObject, resource: Resource): void {
  if (!resource.strategy.tracksGeneration) return;
  const before = current.metadata.generation ?? 0;
  const [wish, wished] = [draft, current].map((object) => wishOf(object, resource.strategy.hasStatus));
  // Annotations of a Deployment are part of its wish: they are copied to its ReplicaSets.
  const annotated =
    resource.storage === "apps/deployments" && !equal(draft.metadata.annotations, current.metadata.annotations);
  draft.metadata.generation = annotated || !equal(wish, wished) ? before + 1 : before;
}

/** What belongs to the wish: not metadata, not the version it is written in, and not the status where it is apart. */
function wishOf({ metadata: _m, apiVersion: _a, status, ...wish }: DynamicObject, statusIsApart: boolean): unknown {
  return statusIsApart ? wish : { ...wish, status };
}

function assign<K extends keyof ObjectMeta>(metadata: ObjectMeta, key: K, value: ObjectMeta[K]): void {
  if (value === undefined) delete metadata[key];
  else metadata[key] = value;
}
