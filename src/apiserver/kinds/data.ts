/** ConfigMaps and Secrets: data by key, which can be frozen. */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { configKey } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { fieldsAt, fillText, textAt, textMapAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import * as tables from "./tables/core.ts";
import { immutable } from "./validation.ts";

/** Both kinds hold at most this much. */
const LARGEST_DATA = 1024 * 1024;

export const configMaps: Resource = resource({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
  shortNames: ["cm"],
  table: tables.configMaps,
  validate(object) {
    const binary = fieldsAt(object, "binaryData");
    const twice = Object.keys(fieldsAt(object, "data")).filter((key) => Object.hasOwn(binary, key));
    return [
      ...keyErrors(object, "data"),
      ...keyErrors(object, "binaryData"),
      ...twice.map((key) => field.invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
      ...sizeErrors(object),
    ];
  },
  validateChange: (object, current) => frozen(object, current, ["data", "binaryData"]),
});

const SECRET_TYPE = {
  opaque: "Opaque",
  serviceAccountToken: "kubernetes.io/service-account-token",
  dockercfg: "kubernetes.io/dockercfg",
  dockerConfigJson: "kubernetes.io/dockerconfigjson",
  basicAuth: "kubernetes.io/basic-auth",
  sshAuth: "kubernetes.io/ssh-auth",
  tls: "kubernetes.io/tls",
} as const;

const ACCOUNT_NAME = "kubernetes.io/service-account.name";

export const secrets: Resource = resource({
  group: "",
  version: "v1",
  kind: "Secret",
  plural: "secrets",
  namespaced: true,
  table: tables.secrets,
  selectableFields: { type: (object) => textAt(object, "type") },
  toStored: withStringData,
  default: (draft) => fillText(draft, { type: SECRET_TYPE.opaque }),
  validate: (object) => [...keyErrors(object, "data"), ...sizeErrors(object), ...typeErrors(object)],
  validateChange: (object, current) => [
    ...immutable("type", object.type, current.type),
    ...frozen(object, current, ["data"]),
  ],
});

/** Plain text is for writing only: it is stored, and read, as data. */
function withStringData({ stringData, ...secret }: DynamicObject): DynamicObject {
  if (!isObject(stringData)) return secret as DynamicObject;
  const encoded = textMapAt(stringData).map(([key, text]) => [key, Buffer.from(text).toString("base64")] as const);
  return { ...secret, data: { ...fieldsAt(secret, "data"), ...Object.fromEntries(encoded) } } as DynamicObject;
}

function keyErrors(object: DynamicObject, path: "data" | "binaryData"): FieldError[] {
  return Object.keys(fieldsAt(object, path)).flatMap((key) =>
    configKey(key).map((problem) => field.invalid(`${path}[${key}]`, key, problem)),
  );
}

function sizeErrors(object: DynamicObject): FieldError[] {
  const isText = object.kind === "ConfigMap";
  let size = 0;
  for (const [, value] of textMapAt(object, "data"))
    size += isText ? Buffer.byteLength(value) : Buffer.byteLength(value, "base64");
  for (const [, value] of textMapAt(object, "binaryData")) size += Buffer.byteLength(value, "base64");
  return size > LARGEST_DATA ? [field.tooLong("data", LARGEST_DATA)] : [];
}

function frozen(object: DynamicObject, current: DynamicObject, paths: readonly string[]): FieldError[] {
  if (current.immutable !== true) return [];
  const why = "field is immutable when `immutable` is set";
  const thawed = object.immutable === true ? [] : ["immutable"];
  const changed = paths.filter((path) => !equal(object[path], current[path]));
  return [...thawed, ...changed].map((path) => field.forbidden(path, why));
}

function typeErrors(secret: DynamicObject): FieldError[] {
  const data = fieldsAt(secret, "data");
  const missing = (...keys: string[]) =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => field.required(`data[${key}]`));
  switch (secret.type) {
    case SECRET_TYPE.serviceAccountToken:
      return secret.metadata.annotations?.[ACCOUNT_NAME]
        ? []
        : [field.required(`metadata.annotations[${ACCOUNT_NAME}]`)];
    case SECRET_TYPE.dockercfg:
      return [...missing(".dockercfg"), ...jsonErrors(data, ".dockercfg")];
    case SECRET_TYPE.dockerConfigJson:
      return [...missing(".dockerconfigjson"), ...jsonErrors(data, ".dockerconfigjson")];
    case SECRET_TYPE.basicAuth:
      return Object.hasOwn(data, "username") || Object.hasOwn(data, "password") ? [] : missing("username", "password");
    case SECRET_TYPE.sshAuth:
      return data["ssh-privatekey"] ? [] : [field.required("data[ssh-privatekey]")];
    case SECRET_TYPE.tls:
      return missing("tls.crt", "tls.key");
    default:
      return [];
  }
}

function jsonErrors(data: Record<string, unknown>, key: string): FieldError[] {
  const text = data[key];
  if (typeof text !== "string") return [];
  try {
    JSON.parse(Buffer.from(text, "base64").toString());
    return [];
  } catch {
    return [field.invalid(`data[${key}]`, "<secret contents redacted>", "is not valid JSON")];
  }
}
