/** Objects as a version shows them: at once, or, where somebody outside converts between versions, after a while. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import type { Resource } from "../resource.ts";

/** A stored object as the resource shows it. */
export function shownBy(resource: Resource, object: DynamicObject): DynamicObject | Promise<DynamicObject> {
  const { conversion, strategy } = resource;
  if (!conversion || object.apiVersion === apiVersionOf(resource)) return strategy.present(object);
  return conversion.shown([object]).then(([shown]) => shown ?? object);
}

/** Many of them, in their order. */
export function allShownBy(
  { conversion, strategy }: Resource,
  objects: readonly DynamicObject[],
): DynamicObject[] | Promise<DynamicObject[]> {
  return conversion ? conversion.shown(objects) : objects.map((object) => strategy.present(object));
}

/** An object of one version of a resource, stored or not, in another one. */
export async function inVersionOf(object: DynamicObject, from: Resource, to: Resource): Promise<DynamicObject> {
  if (from === to) return object;
  if (to.conversion) return to.conversion.toVersion(object);
  return to.strategy.present(from.builtin ? from.strategy.decode(object).object : object);
}
