import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from "node:crypto";
import { DerReader, onlyElement, readBytes, readOid } from "./der-reader.ts";
import { nullElement, oid, sequence, Tag } from "./der-writer.ts";
import { PkiError } from "./error.ts";
import { EC_PUBLIC_KEY, ED25519, RSA_ENCRYPTION } from "./oids.ts";

export interface KeyPair {
  /** PKCS#8 in PEM. */
  readonly privateKey: string;
  /** PKIX (SubjectPublicKeyInfo) in PEM. */
  readonly publicKey: string;
}

/** A private key as PEM (PKCS#8, SEC 1 or PKCS#1) or already read. */
export type PrivateKey = string | KeyObject;
/** A public key as PEM, as PKIX DER, or already read. */
export type PublicKey = string | Buffer | KeyObject;

/** A fresh ECDSA P-256 key. */
export function generateKeyPair(): KeyPair {
  return generateKeyPairSync("ec", {
    namedCurve: "prime256v1",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** A private key that is about to be kept, with both halves at hand. */
export interface FreshKey {
  /** PKCS#8 in PEM. */
  readonly pem: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** As `generateKeyPair`, for those who use the key at once: reading it back from PEM takes longer than making it. */
export function generateKey(): FreshKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return { pem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(), privateKey, publicKey };
}

/** Reads a private key; ECDSA and RSA are accepted. */
export function readPrivateKey(key: PrivateKey): KeyObject {
  let read: KeyObject;
  try {
    read = key instanceof KeyObject ? key : createPrivateKey(key);
  } catch (cause) {
    throw new PkiError("private key: cannot be read", { cause });
  }
  // Ed25519 is accepted where others sign; clients of Kubernetes do not all know it, so we sign without it.
  if (read.type !== "private" || read.asymmetricKeyType === "ed25519") {
    throw new PkiError("private key: must be ECDSA or RSA");
  }
  checkKind(read);
  return read;
}

/** Reads a public key; a private key in PEM gives its public half. */
export function readPublicKey(key: PublicKey): KeyObject {
  if (Buffer.isBuffer(key)) return readPublicKeyInfo(key);
  try {
    const read = key instanceof KeyObject && key.type === "public" ? key : createPublicKey(key);
    checkKind(read);
    return read;
  } catch (cause) {
    if (cause instanceof PkiError) throw cause;
    throw new PkiError("public key: cannot be read", { cause });
  }
}

/** The key as PKIX DER, which its identifiers are made from. */
export function publicKeyDer(key: PublicKey): Buffer {
  return readPublicKey(key).export({ type: "spki", format: "der" });
}

/** What certificates call a key: the first 160 bits of the SHA-256 of its bits (RFC 7093). */
export function keyIdentifier(spki: Buffer): Buffer {
  const info = new DerReader(onlyElement(spki, "public key", Tag.sequence).content);
  info.next("public key algorithm", Tag.sequence);
  const bits = readBytes(info.next("public key bits", Tag.bitString), "public key bits");
  return createHash("sha256").update(bits).digest().subarray(0, 20);
}

interface SignatureAlgorithm {
  readonly oid: string;
  readonly keyType: "ec" | "rsa" | "ed25519";
  readonly hash: "sha256" | "sha384" | "sha512" | null;
}

const ECDSA_SHA256: SignatureAlgorithm = { oid: "1.2.840.10045.4.3.2", keyType: "ec", hash: "sha256" };
const RSA_SHA256: SignatureAlgorithm = { oid: "1.2.840.113549.1.1.11", keyType: "rsa", hash: "sha256" };
const ALGORITHMS: readonly SignatureAlgorithm[] = [
  ECDSA_SHA256,
  { oid: "1.2.840.10045.4.3.3", keyType: "ec", hash: "sha384" },
  { oid: "1.2.840.10045.4.3.4", keyType: "ec", hash: "sha512" },
  RSA_SHA256,
  { oid: "1.2.840.113549.1.1.12", keyType: "rsa", hash: "sha384" },
  { oid: "1.2.840.113549.1.1.13", keyType: "rsa", hash: "sha512" },
  { oid: ED25519, keyType: "ed25519", hash: null },
];

/** The AlgorithmIdentifier that `sign` with this key stands for; RSA carries a NULL, ECDSA nothing. */
export function signatureAlgorithm(key: KeyObject): Buffer {
  return key.asymmetricKeyType === "rsa"
    ? sequence(oid(RSA_SHA256.oid), nullElement())
    : sequence(oid(ECDSA_SHA256.oid));
}

export function sign(data: Buffer, key: KeyObject): Buffer {
  return signBytes("sha256", data, key);
}

/** Whether the signature is the key's; false as well for algorithms that are unknown or too weak. */
export function isSignedBy(key: KeyObject, algorithm: string, data: Buffer, signature: Buffer): boolean {
  const known = ALGORITHMS.find((candidate) => candidate.oid === algorithm);
  if (!known || key.asymmetricKeyType !== known.keyType) return false;
  try {
    return verifyBytes(known.hash, data, key, signature);
  } catch {
    return false;
  }
}

/** Larger RSA keys make every check slow, which hostile input must not achieve. */
const LONGEST_RSA_KEY = 8192;
const CURVES = ["prime256v1", "secp384r1", "secp521r1"];
/** The same curves as the parameters of a public key name them. */
const CURVE_OIDS = ["1.2.840.10045.3.1.7", "1.3.132.0.34", "1.3.132.0.35"];

function checkKind(key: KeyObject): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "ec" && CURVES.includes(details?.namedCurve ?? "")) return;
  if (type === "rsa" && (details?.modulusLength ?? 0) <= LONGEST_RSA_KEY) return;
  if (type === "ed25519") return;
  throw new PkiError(`key: ${type ?? "its kind"} of this size or curve is not supported`);
}

/** Looks at the algorithm before anything else does: explicit curve parameters are a way to burn time. Throws PkiError. */
export function checkPublicKeyInfo(der: Buffer): void {
  const info = new DerReader(onlyElement(der, "public key", Tag.sequence).content);
  const algorithm = info.enter("public key algorithm", Tag.sequence);
  const name = readOid(algorithm.next("public key algorithm", Tag.oid), "public key algorithm");
  if (name === EC_PUBLIC_KEY) {
    const curve = readOid(algorithm.next("curve", Tag.oid), "curve");
    if (!CURVE_OIDS.includes(curve)) throw new PkiError(`public key: curve ${curve} is not supported`);
  } else if (name !== RSA_ENCRYPTION && name !== ED25519) {
    throw new PkiError(`public key: algorithm ${name} is not supported`);
  }
}

function readPublicKeyInfo(der: Buffer): KeyObject {
  checkPublicKeyInfo(der);
  try {
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    checkKind(key);
    return key;
  } catch (cause) {
    if (cause instanceof PkiError) throw cause;
    throw new PkiError("public key: cannot be read", { cause });
  }
}
