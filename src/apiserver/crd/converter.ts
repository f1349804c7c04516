/** Converts objects between the versions of a definition, by the webhook that the definition names. */
import { randomUUID } from "node:crypto";
import type { ConversionReview, CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject, ObjectMeta } from "#api/meta";
import { clone, equal, isObject, stringifyJson } from "#lib/json";
import { type ApiError, type FieldError, plainError } from "../errors.ts";
import { validateAnnotations, validateLabels } from "../kinds/index.ts";
import { CallFailure, type WebhookCaller } from "../webhooks/index.ts";

export interface Converter {
  /** The objects, of whatever version, in another one and in their order. Throws ApiError. */
  convert(objects: readonly DynamicObject[], apiVersion: string): Promise<DynamicObject[]>;
  /** Why objects only change their apiVersion for now; undefined when they are converted. */
  notConverted(): string | undefined;
}

const GROUP = "apiextensions.k8s.io";
const KIND = "ConversionReview";
const VERSIONS = ["v1", "v1beta1"];
const TIMEOUT_MS = 30_000;
/** Objects travel together until they are that many bytes; one alone may have more. */
const LARGEST_BATCH = 1024 * 1024;
/** Of an answer: conversion may make objects larger, and not without bounds. */
const LARGEST_ANSWER = 16 * 1024 * 1024;

/** Undefined where nobody needs to be asked: there is but one version, or they differ in nothing but their name. */
export function webhookConverter({ spec }: CustomResourceDefinition, caller: WebhookCaller): Converter | undefined {
  const { strategy, webhook } = spec.conversion ?? {};
  const config = webhook?.clientConfig;
  if (strategy !== "Webhook" || !config || spec.versions.length < 2) return undefined;
  const version = webhook.conversionReviewVersions?.find((each) => VERSIONS.includes(each));

  const send = async (objects: readonly DynamicObject[], apiVersion: string): Promise<DynamicObject[]> => {
    if (version === undefined) throw plainError("no supported conversion review versions");
    const uid = randomUUID();
    const review: ConversionReview = {
      kind: KIND,
      apiVersion: `${GROUP}/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects: [...objects] },
    };
    const limits = { timeoutMs: TIMEOUT_MS, largest: LARGEST_ANSWER };
    try {
      const called = await caller.call(config, review, limits);
      if ("answer" in called) return checked(objects, convertedIn(called.answer, { uid, version }), apiVersion);
      if (called.simulated === "allow") return objects.map((object) => ({ ...object, apiVersion }));
      throw new CallFailure(`Service ${called.service} says that it denies`);
    } catch (error) {
      if (error instanceof CallFailure) throw plainError(`${named(objects)} failed: ${error.message}`);
      throw error;
    }
  };

  return {
    async convert(objects, apiVersion) {
      const results = [...objects];
      const indexes = [...objects.keys()].filter((index) => objects[index]?.apiVersion !== apiVersion);
      for (const batch of batchesOf(indexes, (index) => objects[index])) {
        const sent = batch.flatMap((index) => objects[index] ?? []);
        for (const [at, object] of (await send(sent, apiVersion)).entries()) results[batch[at] ?? -1] = object;
      }
      return results;
    },
    notConverted() {
      const service = caller.simulatedService(config);
      return service && `all Pods behind Service ${service} are simulated`;
    },
  };
}

function batchesOf(indexes: readonly number[], objectAt: (index: number) => unknown): number[][] {
  const batches: number[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const index of indexes) {
    const bytes = stringifyJson(objectAt(index)).length;
    if (size + bytes > LARGEST_BATCH) {
      batches.push([]);
      size = 0;
    }
    batches.at(-1)?.push(index);
    size += bytes;
  }
  return batches;
}

function named([first]: readonly DynamicObject[]): string {
  return `conversion webhook for ${first?.apiVersion ?? ""}, Kind=${first?.kind ?? ""}`;
}

/** What the answer says; those who speak the old version were never held to its name and uid. */
function convertedIn(answer: unknown, asked: { uid: string; version: string }): unknown[] {
  if (!isObject(answer)) throw new CallFailure("couldn't get version/kind; json parse error: the answer is no object");
  const { apiVersion = "", kind = "", response } = answer;
  const expected = `${GROUP}/${asked.version}`;
  const isStrict = asked.version === "v1";
  if (isStrict && (apiVersion !== expected || kind !== KIND)) {
    const got = apiVersion === "" && kind === "" ? "/, Kind=" : `${apiVersion}, Kind=${kind}`;
    throw new CallFailure(`expected webhook response of ${expected}, Kind=${KIND}, got ${got}`);
  }
  if (!isObject(response)) throw new CallFailure("no response provided");
  if (isStrict && response.uid !== asked.uid) {
    throw new CallFailure(`expected response.uid="${asked.uid}", got ${JSON.stringify(response.uid ?? "")}`);
  }
  const { status = "", message } = isObject(response.result) ? response.result : {};
  if (status !== "Success") {
    throw new CallFailure(String(message || `response.result.status was '${status}', not 'Success'`));
  }
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

/** The converted objects, if they are still the same ones. */
function checked(
  originals: readonly DynamicObject[],
  converted: readonly unknown[],
  apiVersion: string,
): DynamicObject[] {
  if (converted.length !== originals.length) {
    throw plainError(`${named(originals)} returned ${converted.length} objects, expected ${originals.length}`);
  }
  return originals.map((original, index) => {
    const fail = (what: string): ApiError => plainError(`${named([original])} returned ${what}`);
    return checkedOne(original, converted[index], apiVersion, index, fail);
  });
}

function checkedOne(
  original: DynamicObject,
  converted: unknown,
  apiVersion: string,
  index: number,
  fail: (what: string) => ApiError,
): DynamicObject {
  const { apiVersion: got = "", kind } = isObject(converted) ? converted : {};
  if (!isObject(converted) || got !== apiVersion) {
    throw fail(`invalid object at index ${index}: invalid groupVersion (expected ${apiVersion}, received ${got})`);
  }
  if (kind !== original.kind) {
    throw fail(`invalid object at index ${index}: invalid kind (expected ${original.kind}, received ${kind ?? ""})`);
  }
  const metadata = isObject(converted.metadata) ? converted.metadata : {};
  for (const [field, shown] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["uid", "UID"],
  ] as const) {
    const [expected, actual] = [original.metadata[field] ?? "", metadata[field] ?? ""];
    if (expected !== actual) throw fail(`invalid object: must have the same ${shown}: ${expected} != ${actual}`);
  }
  if (converted.metadata === undefined) throw fail("invalid metadata: missing metadata in converted object");
  return { ...converted, metadata: restored(original.metadata, metadata, fail) } as DynamicObject;
}

/** Of metadata, labels and annotations are the webhook's to convert; the rest is the server's. */
function restored(
  original: ObjectMeta,
  converted: Record<string, unknown>,
  fail: (what: string) => ApiError,
): ObjectMeta {
  const metadata = clone(original);
  for (const name of ["labels", "annotations"] as const) {
    const value = converted[name];
    delete metadata[name];
    if (value === undefined || value === null) continue;
    if (!isObject(value)) throw fail(`invalid metadata: invalid metadata.${name} in converted object`);
    const stray = Object.entries(value).find(([, text]) => typeof text !== "string");
    if (stray) throw fail(`invalid metadata: metadata.${name}[${stray[0]}] must be a string in converted object`);
    const texts = value as Record<string, string>;
    const errors = equal(texts, original[name] ?? {}) ? [] : flawsOf(name, texts);
    if (errors.length > 0) throw fail(`invalid metadata: ${errors.map(shownError).join(", ")}`);
    metadata[name] = texts;
  }
  return metadata;
}

function flawsOf(name: "labels" | "annotations", texts: Record<string, string>): FieldError[] {
  return name === "labels" ? validateLabels(texts, "metadata.labels") : validateAnnotations(texts);
}

function shownError({ field, message }: FieldError): string {
  return `${field}: ${message}`;
}
