/**
 * Keys, certificates, certificate requests and signed tokens, on node:crypto alone: what an API server needs to
 * issue identities and to check them, and what an agent needs to ask for one. Everything here is a function of
 * its arguments, and hostile input ends in a PkiError or in a reason, never in anything else.
 */
export { type Certificate, parseCertificate, parseCertificates } from "./certificate.ts";
export { PkiError } from "./error.ts";
export type { AlternativeNames, Extensions } from "./extensions.ts";
export {
  type AuthorityRequest,
  type CertificateAuthority,
  type CertificateOrder,
  createCertificateAuthority,
  issueCertificate,
} from "./issue.ts";
export {
  type FreshKey,
  generateKey,
  generateKeyPair,
  type KeyPair,
  type PrivateKey,
  type PublicKey,
  publicKeyDer,
  readPrivateKey,
  readPublicKey,
} from "./keys.ts";
export type { Subject, SubjectInput } from "./name.ts";
export { type PemBlock, pem, pemBlocks } from "./pem.ts";
export {
  type CertificateRequest,
  createCertificateRequest,
  parseCertificateRequest,
  type RequestDraft,
} from "./request.ts";
export {
  type Claims,
  type JsonWebKey,
  jsonWebKeySet,
  looksLikeToken,
  signToken,
  type TokenKey,
  type TokenSigningKey,
  type TokenVerification,
  tokenKey,
  tokenSigningKey,
  verifyToken,
} from "./token.ts";
export { type CertificateUsage, isCertificateUsage } from "./usages.ts";
export { type ClientVerification, type Distrust, verifyClientCertificate } from "./verify.ts";
