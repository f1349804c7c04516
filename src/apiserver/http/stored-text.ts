/**
 * The JSON of stored objects, written once and kept for as long as the object: lists, and watches with many readers,
 * ask for the same text again and again. Stored objects never change, so their text does not either.
 */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { stringifyJson } from "#lib/json";
import type { Listed } from "../registry/index.ts";
import type { Resource } from "../resource.ts";

const texts = new WeakMap<object, string>();

export function storedText(object: object): string {
  const known = texts.get(object);
  if (known !== undefined) return known;
  const text = stringifyJson(object);
  texts.set(object, text);
  return text;
}

/** A body that is JSON already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A list of whole objects. */
export function listText(listed: Listed, metadata: object, resource: Resource): JsonText {
  const head = stringifyJson({ kind: resource.listKind, apiVersion: apiVersionOf(resource), metadata }).slice(0, -1);
  const itemText = resource.builtin ? untyped(resource) : storedText;
  return new JsonText(`${head},"items":[${listed.items.map(itemText).join(",")}]}`);
}

/** Built-in kinds leave out apiVersion and kind inside of lists: where the text begins with them, they are cut. */
function untyped(resource: Resource): (object: DynamicObject) => string {
  const apiVersion = `"apiVersion":${JSON.stringify(apiVersionOf(resource))},`;
  const kind = `"kind":${JSON.stringify(resource.kind)},`;
  const openings = [`{${kind}${apiVersion}`, `{${apiVersion}${kind}`];
  return (object) => {
    const text = storedText(object);
    const opening = openings.find((each) => text.startsWith(each));
    if (opening !== undefined) return `{${text.slice(opening.length)}`;
    const { apiVersion: _a, kind: _k, ...rest } = object;
    return stringifyJson(rest);
  };
}
