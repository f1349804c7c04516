import { createHash, timingSafeEqual } from "node:crypto";
import { isObject } from "#lib/json";
import type { UserInfo } from "../resource.ts";
import { type ObjectReader, Stored } from "./object-reader.ts";
import { authenticated, Group } from "./users.ts";

const TOKEN = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const SECRET_TYPE = "bootstrap.kubernetes.io/token";
/** Extra groups must stay below the group of all bootstrappers, so that a Secret cannot grant other powers. */
const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

/** Whether the text has the form of a bootstrap token, `<id>.<secret>`. */
export function looksLikeBootstrapToken(token: string): boolean {
  return TOKEN.test(token);
}

/** Who a bootstrap token stands for, or undefined when its Secret does not allow it now. */
export function bootstrapUser(reader: ObjectReader, token: string, now: Date): UserInfo | undefined {
  const [, id, secret] = TOKEN.exec(token) ?? [];
  if (id === undefined || secret === undefined) return undefined;
  const stored = reader.get(Stored.secrets, `kube-system/bootstrap-token-${id}`);
  if (stored?.type !== SECRET_TYPE || stored.metadata.deletionTimestamp !== undefined) return undefined;
  const data = decoded(stored.data);

  if (data.get("token-id") !== id || !sameSecret(data.get("token-secret") ?? "", secret)) return undefined;
  if (data.get("usage-bootstrap-authentication") !== "true") return undefined;
  const expiration = data.get("expiration") ?? "";
  // A date that cannot be read ends the token: it was meant to end at some time.
  if (expiration !== "" && !(Date.parse(expiration) > now.getTime())) return undefined;
  const extra = (data.get("auth-extra-groups") ?? "").split(",").map((group) => group.trim());
  const extraGroups = [...new Set(extra.filter((group) => group !== ""))];
  if (!extraGroups.every((group) => EXTRA_GROUP.test(group))) return undefined;

  return authenticated({ username: `system:bootstrap:${id}`, groups: [Group.bootstrappers, ...extraGroups] });
}

function decoded(data: unknown): Map<string, string> {
  const entries = Object.entries(isObject(data) ? data : {});
  return new Map(
    entries.map(([key, value]) => [key, typeof value === "string" ? Buffer.from(value, "base64").toString() : ""]),
  );
}

/** Takes the same time wherever the difference lies. */
function sameSecret(a: string, b: string): boolean {
  return timingSafeEqual(sha256(a), sha256(b));
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
