/** The group `operator.knative.dev`: Knative Serving and Eventing as one asks for them, on this cluster or on another. */
export type {
  KnativeSpec,
  KnativeStatus,
  KnativeStatusCondition,
  Registry,
  WorkloadOverride,
} from "./common-spec.ts";
export { KnativeEventing, type KnativeEventingSpec, knativeEventingCrd } from "./knative-eventing.ts";
export {
  type IstioGateway,
  type IstioServer,
  KnativeServing,
  type KnativeServingSpec,
  type Kourier,
  knativeServingCrd,
} from "./knative-serving.ts";
export {
  COMPONENT_LABEL,
  KnativeComponent,
  KnativeCondition,
  KnativeFinalizer,
  type KnativeKind,
  KnativeReason,
  TargetReason,
} from "./names.ts";
export type { ContainerProbe, ContainerResources } from "./pod-pieces.ts";
