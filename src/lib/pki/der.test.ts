import { describe, expect, it } from "vitest";
import { DerReader, onlyElement, readNamedBits, readOid, readText, readTime } from "./der-reader.ts";
import { bitString, element, integer, namedBits, octetString, oid, set, Tag, time } from "./der-writer.ts";
import { PkiError } from "./error.ts";
import { addressBytes, addressText } from "./ip-address.ts";

const hex = (buffer: Buffer) => buffer.toString("hex");
const only = (bytes: Buffer) => new DerReader(bytes).next("element");

describe("writing", () => {
  it.each([
    ["zero", integer(0), "020100"],
    ["a byte with its top bit set, which needs a zero before it", integer(0x80), "02020080"],
    ["a number with leading zeros, which are dropped", integer(Buffer.from([0, 0, 1])), "020101"],
    ["no bits", namedBits([]), "030100"],
    ["the bits of a client's key usage", namedBits([0, 2]), "030205a0"],
    ["a bit in the second byte", namedBits([8]), "0303070080"],
    ["an identifier with a long number", oid("1.2.840.113549"), "06062a864886f70d"],
    ["a set, in the order of its bytes", set(integer(2), integer(1)), "3106020101020102"],
    ["whole bytes", bitString(Buffer.from([1])), "03020001"],
  ])("%s", (_, bytes, expected) => {
    expect(hex(bytes)).toBe(expected);
  });

  it("uses the long form for lengths from 128 on", () => {
    expect(hex(octetString(Buffer.alloc(127)).subarray(0, 2))).toBe("047f");
    expect(hex(octetString(Buffer.alloc(128)).subarray(0, 3))).toBe("048180");
    expect(hex(octetString(Buffer.alloc(300)).subarray(0, 4))).toBe("0482012c");
  });

  it.each([
    ["2049-12-31T23:59:59Z", Tag.utcTime, "491231235959Z"],
    ["2050-01-01T00:00:00Z", Tag.generalizedTime, "20500101000000Z"],
    ["1970-01-01T00:00:00Z", Tag.utcTime, "700101000000Z"],
  ])("writes %s so that it can be read back", (text, tag, digits) => {
    const written = only(time(new Date(text)));

    expect(written).toMatchObject({ tag, content: Buffer.from(digits) });
    expect(readTime(written, "time")).toEqual(new Date(text));
  });
});

describe("reading", () => {
  it.each([
    ["a length beyond the end", "30050101"],
    ["an endless length", "3080"],
    ["a length of a length of five bytes", "30850000000001aa"],
    ["a length that could be shorter", "308101aa"],
    ["a length with a zero before it", "30820080"],
    ["a tag of several bytes", "3f8101"],
    ["nothing", ""],
    ["a tag alone", "30"],
    ["two elements where one belongs", "30003000"],
  ])("refuses %s", (_, bytes) => {
    expect(() => onlyElement(Buffer.from(bytes, "hex"), "input", Tag.sequence)).toThrow(PkiError);
  });

  it("refuses input that no certificate needs", () => {
    expect(() => onlyElement(octetString(Buffer.alloc(300_000)), "input", Tag.octetString)).toThrow(/longer/);
  });

  it.each([
    ["an empty identifier", "0600", readOid],
    ["an identifier that is cut off", "06022a86", readOid],
    ["an identifier with an enormous number", "060affffffffffffffffff7f", readOid],
    ["a day that does not exist", hex(element(Tag.utcTime, Buffer.from("260230000000Z"))), readTime],
    ["an hour that does not exist", hex(element(Tag.utcTime, Buffer.from("260228250000Z"))), readTime],
    ["a time without zone", hex(element(Tag.utcTime, Buffer.from("260228000000"))), readTime],
    ["text that is not UTF-8", "0c01ff", readText],
    ["an integer where text belongs", "020101", readText],
    ["more unused bits than a byte has", "03020800", readNamedBits],
  ])("refuses %s", (_, bytes, read) => {
    expect(() => read(only(Buffer.from(bytes, "hex")), "value")).toThrow(PkiError);
  });

  it("reads text of two bytes a character", () => {
    expect(readText(only(element(Tag.bmpString, Buffer.from([0, 0x61, 0x20, 0xac]))), "text")).toBe("a€");
  });
});

describe("addresses", () => {
  it.each([
    ["10.0.0.255", "0a0000ff", "10.0.0.255"],
    ["::", "00".repeat(16), "::"],
    ["::1", `${"00".repeat(15)}01`, "::1"],
    ["fe80::1:0:0:1", "fe80000000000000000100000000 0001".replace(" ", ""), "fe80::1:0:0:1"],
    ["2001:DB8:0:1:1:1:1:1", "20010db8000000010001000100010001", "2001:db8:0:1:1:1:1:1"],
    ["::ffff:1.2.3.4", "00000000000000000000ffff01020304", "::ffff:102:304"],
  ])("%s", (text, bytes, canonical) => {
    expect(hex(addressBytes(text))).toBe(bytes);
    expect(addressText(addressBytes(text))).toBe(canonical);
  });

  it.each([
    "",
    "1.2.3",
    "1.2.3.256",
    "01.2.3.4",
    "1::2::3",
    ":::",
    "1:2:3:4:5:6:7",
    "g::1",
    "1:2:3:4:5:6:7:8::",
    "::1.2.3",
  ])("refuses %o", (text) => {
    expect(() => addressBytes(text)).toThrow(PkiError);
  });
});
