/** What the kinds of add-ons have in common. */
import { type Infer, listByKey, object, optional, string } from "#api/schema";

const group = optional(string({ default: "" }));
const resource = string({ minLength: 1 });
const name = string({ minLength: 1 });
const namespace = optional(string({ description: "Absent for what has no namespace." }));

export const addOnMeta = object({ displayName: optional(string()), description: optional(string()) });

/** A kind of configuration. */
export const configKind = { group, resource };

/** A configuration. */
export const config = object({ ...configKind, namespace, name });

/** A configuration as it was at some moment. */
export const configSpecHash = object({ namespace, name, specHash: optional(string()) });

export const configReferent = { namespace, name };

export const supportedConfigs = listByKey(object(configKind), ["group", "resource"]);

export const SIGNER_NAME = {
  minLength: 5,
  maxLength: 571,
  pattern: "^([a-z0-9][a-z0-9-]*[a-z0-9]\\.)+[a-z]+\\/[a-z0-9-\\.]+$",
};

export type AddOnConfig = Infer<typeof config>;
