/** The group `authentication.k8s.io/v1`: tokens of service accounts, and who a token belongs to. */
import { type KubeObject, kind } from "#api/meta";

/** Posted to `/token` of a ServiceAccount; the answer carries the token. */
export interface TokenRequest extends KubeObject {
  spec: {
    audiences?: string[];
    expirationSeconds?: number;
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
  };
  status?: { token: string; expirationTimestamp: string };
}
export const TokenRequest = kind<TokenRequest>({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenRequest",
  plural: "tokenrequests",
  namespaced: true,
});

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface TokenReview extends KubeObject {
  spec: { token?: string; audiences?: string[] };
  status?: { authenticated?: boolean; user?: UserInfo; audiences?: string[]; error?: string };
}
export const TokenReview = kind<TokenReview>({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "TokenReview",
  plural: "tokenreviews",
  namespaced: false,
});

export interface SelfSubjectReview extends KubeObject {
  status?: { userInfo?: UserInfo };
}
export const SelfSubjectReview = kind<SelfSubjectReview>({
  group: "authentication.k8s.io",
  version: "v1",
  kind: "SelfSubjectReview",
  plural: "selfsubjectreviews",
  namespaced: false,
});
