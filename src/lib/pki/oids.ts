/** The object identifiers that certificates and certificate requests are made of. */

export const Attribute = {
  commonName: "2.5.4.3",
  organization: "2.5.4.10",
  organizationalUnit: "2.5.4.11",
} as const;

export const Extension = {
  subjectKeyIdentifier: "2.5.29.14",
  keyUsage: "2.5.29.15",
  subjectAltName: "2.5.29.17",
  basicConstraints: "2.5.29.19",
  authorityKeyIdentifier: "2.5.29.35",
  extendedKeyUsage: "2.5.29.37",
} as const;

export const ANY_EXTENDED_KEY_USAGE = "2.5.29.37.0";
export const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";
export const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";

/** The attribute of a certificate request that carries extensions. */
export const EXTENSION_REQUEST = "1.2.840.113549.1.9.14";

export const EC_PUBLIC_KEY = "1.2.840.10045.2.1";
export const RSA_ENCRYPTION = "1.2.840.113549.1.1.1";
export const ED25519 = "1.3.101.112";
