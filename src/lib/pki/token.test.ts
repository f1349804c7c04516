import { createHash, createHmac, generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import {
  generateKeyPair,
  jsonWebKeySet,
  PkiError,
  signToken,
  tokenKey,
  tokenSigningKey,
  verifyToken,
} from "./index.ts";

const ecdsa = tokenSigningKey(generateKeyPair().privateKey);
const rsa = tokenSigningKey(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey);
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const claims = { sub: "alice", aud: ["a"] };

describe("tokens", () => {
  it.each([
    ["ES256", ecdsa],
    ["RS256", rsa],
  ])("are signed and checked with %s", (algorithm, key) => {
    const token = signToken(key, claims);

    expect(JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString())).toEqual({
      alg: algorithm,
      kid: key.keyId,
    });
    expect(verifyToken(token, [ecdsa, rsa])).toEqual({ trusted: true, claims });
  });

  it("name their key by the hash of its PKIX form", () => {
    const { publicKey } = generateKeyPair();
    const der = Buffer.from(publicKey.replace(/-----.*-----|\n/g, ""), "base64");
    expect(tokenKey(publicKey).keyId).toBe(createHash("sha256").update(der).digest("base64url"));
  });

  const good = signToken(ecdsa, claims);
  const [header = "", payload = "", signature = ""] = good.split(".");
  const hmacSecret = ecdsa.publicKey.export({ type: "spki", format: "pem" });
  const hmacSigned = `${part({ alg: "HS256", kid: ecdsa.keyId })}.${payload}`;
  const hmac = createHmac("sha256", hmacSecret).update(hmacSigned).digest("base64url");

  it.each([
    ["no algorithm and no signature", `${part({ alg: "none", kid: ecdsa.keyId })}.${payload}.`],
    ["no algorithm and some signature", `${part({ alg: "none", kid: ecdsa.keyId })}.${payload}.${signature}`],
    ["the public key as a shared secret", `${hmacSigned}.${hmac}`],
    ["the algorithm of another key", `${part({ alg: "RS256", kid: ecdsa.keyId })}.${payload}.${signature}`],
    ["an unknown key", `${part({ alg: "ES256", kid: "nobody" })}.${payload}.${signature}`],
    ["no key", `${part({ alg: "ES256" })}.${payload}.${signature}`],
    ["a key that did not sign it", `${part({ alg: "RS256", kid: rsa.keyId })}.${payload}.${signature}`],
    ["other claims", `${header}.${part({ sub: "mallory" })}.${signature}`],
    ["a signature of zeros", `${header}.${payload}.${Buffer.alloc(64).toString("base64url")}`],
    ["a short signature", `${header}.${payload}.AA`],
    ["demands that are unknown", signedWith({ alg: "ES256", kid: ecdsa.keyId, crit: ["x"] })],
    ["a header that is a list", `${part([])}.${payload}.${signature}`],
    ["a header that is no JSON", `AAAA.${payload}.${signature}`],
    ["characters that do not belong", `${header}.${payload}.${signature}=`],
    ["four parts", `${good}.AAAA`],
    ["far too much", `${header}.${"A".repeat(20_000)}.${signature}`],
    ["nothing", ""],
  ])("are refused with %s", (_, token) => {
    expect(verifyToken(token, [ecdsa, rsa])).toMatchObject({ trusted: false });
  });

  it("are refused when the claims are no object, even if signed", () => {
    const token = signToken(ecdsa, [] as unknown as Record<string, unknown>);
    expect(verifyToken(token, [ecdsa])).toMatchObject({ trusted: false });
  });

  function signedWith(extraHeader: Record<string, unknown>): string {
    return `${part(extraHeader)}.${payload}.${signature}`;
  }

  it("need a key that clients know", () => {
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "secp384r1" });
    expect(() => tokenSigningKey(privateKey)).toThrow(PkiError);
    expect(() => tokenSigningKey("no key")).toThrow(PkiError);
  });
});

describe("jsonWebKeySet", () => {
  it("shows the public halves only", () => {
    const [first, second] = jsonWebKeySet([ecdsa, rsa]).keys;
    expect(Object.keys(first ?? {}).sort()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
    expect(Object.keys(second ?? {}).sort()).toEqual(["alg", "e", "kid", "kty", "n", "use"]);
    expect(first).toMatchObject({ use: "sig", kty: "EC", crv: "P-256", alg: "ES256", kid: ecdsa.keyId });
  });
});
