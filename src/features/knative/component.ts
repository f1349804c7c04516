import type {
  KnativeEventing,
  KnativeEventingSpec,
  KnativeKind,
  KnativeServing,
  KnativeServingSpec,
} from "#api/knative";

/** What is asked for, without where and by whom. */
export type Component =
  | { readonly kind: Extract<KnativeKind, "KnativeServing">; readonly spec: KnativeServingSpec }
  | { readonly kind: Extract<KnativeKind, "KnativeEventing">; readonly spec: KnativeEventingSpec };

/** An object without a spec wishes for nothing in particular. */
export function componentOf(object: KnativeServing | KnativeEventing): Component {
  const { kind, spec = {} } = object;
  return kind === "KnativeEventing"
    ? { kind, spec: spec as KnativeEventingSpec }
    : { kind: "KnativeServing", spec: spec as KnativeServingSpec };
}
