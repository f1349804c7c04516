import type { WebhookClientConfig } from "#api/admissionregistration";
import { type ConditionStatus, type DynamicObject, type KubeObject, kind, type Status } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";

export interface CustomResourceDefinition extends KubeObject {
  spec: CustomResourceDefinitionSpec;
  status?: CustomResourceDefinitionStatus;
}

export const CustomResourceDefinition = kind<CustomResourceDefinition>({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});

export interface CustomResourceDefinitionSpec {
  group: string;
  names: CustomResourceNames;
  scope: "Namespaced" | "Cluster";
  versions: CustomResourceDefinitionVersion[];
  conversion?: CustomResourceConversion;
  preserveUnknownFields?: boolean;
}

export interface CustomResourceNames {
  plural: string;
  kind: string;
  singular?: string;
  listKind?: string;
  shortNames?: string[];
  categories?: string[];
}

export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: { openAPIV3Schema?: OpenApiSchema };
  subresources?: { status?: Record<string, never>; scale?: CustomResourceScale };
  additionalPrinterColumns?: CustomResourceColumn[];
  selectableFields?: { jsonPath: string }[];
}

export interface CustomResourceScale {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface CustomResourceColumn {
  name: string;
  type: "string" | "integer" | "number" | "boolean" | "date";
  jsonPath: string;
  format?: string;
  description?: string;
  priority?: number;
}

export interface CustomResourceConversion {
  strategy: "None" | "Webhook";
  webhook?: {
    clientConfig?: WebhookClientConfig;
    conversionReviewVersions?: string[];
  };
}

/** What a conversion webhook is asked, and what it answers. */
export interface ConversionReview {
  apiVersion: string;
  kind: "ConversionReview";
  request?: { uid: string; desiredAPIVersion: string; objects: DynamicObject[] };
  response?: { uid: string; convertedObjects?: DynamicObject[]; result: Partial<Status> };
}

export interface CustomResourceDefinitionStatus {
  conditions?: CustomResourceDefinitionCondition[];
  acceptedNames?: CustomResourceNames;
  storedVersions?: string[];
  observedGeneration?: number;
}

/** Unlike other conditions, these may lack a reason, a message and a time. */
export interface CustomResourceDefinitionCondition {
  type: string;
  status: ConditionStatus;
  lastTransitionTime?: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

export const DefinitionCondition = {
  NamesAccepted: "NamesAccepted",
  Established: "Established",
  Terminating: "Terminating",
  NonStructuralSchema: "NonStructuralSchema",
  ApprovalPolicyConformant: "KubernetesAPIApprovalPolicyConformant",
} as const;

/** Keeps a definition until the objects of its kind are gone. */
export const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

/** Where a definition in a group of the Kubernetes community says who approved it. */
export const API_APPROVED_ANNOTATION = "api-approved.kubernetes.io";
