import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { decodeProtobuf, encodeProtobuf, normalize, structOf, type TypeRef, typeOf } from "./index.ts";

/** A protobuf writer that knows nothing of ours: every field is written by hand. */
const varint = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
const int = (number: number, value: number): number[] => [...varint(number << 3), ...varint(value)];
const block = (number: number, bytes: Iterable<number>): number[] => {
  const inner = [...bytes];
  return [...varint((number << 3) | 2), ...varint(inner.length), ...inner];
};
const text = (number: number, value: string): number[] => block(number, Buffer.from(value));
const sealed = (apiVersion: string, kind: string, raw: number[]): Uint8Array =>
  Uint8Array.from([0x6b, 0x38, 0x73, 0, ...block(1, [...text(1, apiVersion), ...text(2, kind)]), ...block(2, raw)]);

describe("decoding", () => {
  it("reads a ConfigMap with zeros that Go always writes", () => {
    const metadata = [...text(1, "c"), ...text(2, ""), ...text(3, "ns"), ...int(7, 0), ...block(8, [])];
    const raw = [
      ...block(1, metadata),
      ...block(2, [...text(1, "k"), ...text(2, "v")]),
      ...block(3, [...text(1, "b"), ...block(2, [0, 255])]),
    ];
    expect(decodeProtobuf(sealed("v1", "ConfigMap", raw))).toEqual({
      apiVersion: "v1",
      kind: "ConfigMap",
      object: {
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { name: "c", namespace: "ns" },
        data: { k: "v" },
        binaryData: { b: "AP8=" },
      },
    });
  });

  it("reads a Lease, where zero behind a pointer counts", () => {
    const time = [...int(1, 1_700_000_000), ...int(2, 123_456_000)];
    const spec = [...text(1, "me"), ...int(2, 0), ...block(4, time)];
    const { object } = decodeProtobuf(
      sealed("coordination.k8s.io/v1", "Lease", [...block(1, text(1, "l")), ...block(2, spec)]),
    );
    expect(object.spec).toEqual({
      holderIdentity: "me",
      leaseDurationSeconds: 0,
      renewTime: "2023-11-14T22:13:20.123456Z",
    });
  });

  it("reads a CertificateSigningRequest, whose extra values are messages of their own", () => {
    const extra = [...text(1, "scopes"), ...block(2, [...text(1, "a"), ...text(1, "b")])];
    const spec = [
      ...block(1, Buffer.from("PEM")),
      ...text(5, "client auth"),
      ...block(6, extra),
      ...text(7, "example.com/s"),
      ...int(8, 600),
    ];
    const { object } = decodeProtobuf(sealed("certificates.k8s.io/v1", "CertificateSigningRequest", block(2, spec)));
    expect(object.spec).toEqual({
      request: "UEVN",
      signerName: "example.com/s",
      expirationSeconds: 600,
      usages: ["client auth"],
      extra: { scopes: ["a", "b"] },
    });
  });

  it("reads the fields of an inlined struct from its message", () => {
    const volume = [...text(1, "v"), ...block(2, block(2, []))];
    const { object } = decodeProtobuf(sealed("v1", "Pod", block(2, block(1, volume))));
    expect((object.spec as { volumes: unknown }).volumes).toEqual([{ name: "v", emptyDir: {} }]);
  });

  it("knows DeleteOptions under every group version, because clients send them under the one they talk to", () => {
    const { object } = decodeProtobuf(sealed("apps/v1", "DeleteOptions", [...int(1, 0), ...text(4, "Background")]));
    expect(object).toEqual({
      kind: "DeleteOptions",
      apiVersion: "apps/v1",
      gracePeriodSeconds: 0,
      propagationPolicy: "Background",
    });
  });

  it("passes over fields it does not know, because clients may be newer", () => {
    const raw = [...block(1, text(1, "c")), ...text(99, "new"), ...int(100, 5)];
    expect(decodeProtobuf(sealed("v1", "ConfigMap", raw)).object.metadata).toEqual({ name: "c" });
  });

  it("reads packed and unpacked lists of numbers alike", () => {
    const packed = block(2, block(14, block(4, [...varint(5), ...varint(300)])));
    const unpacked = block(2, block(14, [...int(4, 5), ...int(4, 300)]));
    const groups = (raw: number[]) =>
      (decodeProtobuf(sealed("v1", "Pod", raw)).object.spec as { securityContext: unknown }).securityContext;
    expect(groups(packed)).toEqual({ supplementalGroups: [5, 300] });
    expect(groups(unpacked)).toEqual(groups(packed));
  });

  it("keeps a key called __proto__ as a key", () => {
    const raw = block(2, [...text(1, "__proto__"), ...text(2, "v")]);
    expect(JSON.stringify(decodeProtobuf(sealed("v1", "ConfigMap", raw)).object.data)).toBe('{"__proto__":"v"}');
  });
});

describe("hostile bytes", () => {
  const deep = (levels: number): number[] => (levels === 0 ? [] : block(28, deep(levels - 1)));
  const crd = (schema: number[]) => block(2, block(7, [...text(1, "v1"), ...block(4, block(1, schema))]));

  it.each([
    ["nothing", new Uint8Array()],
    ["JSON", Buffer.from("{}")],
    ["an unknown kind", sealed("v1", "Nope", [])],
    ["a struct that is no kind", sealed("v1", "Container", [])],
    ["a length beyond the end", sealed("v1", "ConfigMap", [0x0a, 0xff, 0xff, 0xff, 0xff, 0x07])],
    ["a length beyond 2^53", sealed("v1", "ConfigMap", [0x0a, ...Array<number>(9).fill(0xff), 0x01])],
    ["a varint without end", sealed("v1", "ConfigMap", Array<number>(20).fill(0xff))],
    ["field number zero", sealed("v1", "ConfigMap", [0x02, 0x00])],
    ["a group", sealed("v1", "ConfigMap", [0x0b, 0x0c])],
    ["a number where a message belongs", sealed("v1", "ConfigMap", int(1, 5))],
    [
      "a time beyond the calendar",
      sealed("v1", "ConfigMap", block(1, block(8, [0x08, ...Array<number>(8).fill(0xff), 0x7f]))),
    ],
    ["broken JSON inside", sealed("apps/v1", "ControllerRevision", block(2, text(1, "{")))],
    ["a compressed body", Uint8Array.from([...sealed("v1", "ConfigMap", []), ...text(3, "gzip")])],
    ["bottomless nesting", sealed("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd(deep(200)))],
  ])("%s is refused with 400", (_, bytes) => {
    const refused = caught(() => decodeProtobuf(bytes));
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ code: 400 });
  });

  it("takes a schema of honest depth", () => {
    const bytes = sealed("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd(deep(40)));
    expect(decodeProtobuf(bytes).kind).toBe("CustomResourceDefinition");
  });

  it("never fails with anything but an ApiError, whatever is cut off or flipped", () => {
    const bytes = encodeProtobuf(
      normalize("core/v1#Pod", {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p", labels: { a: "b" } },
        spec: { containers: [{ name: "c", ports: [{ containerPort: 80 }] }] },
      }).object,
    );
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.nat(255), fc.nat(bytes.length), (at, byte, length) => {
        const broken = bytes.slice(0, Math.max(length, 4));
        if (at < broken.length) broken[at] = byte;
        const error = caught(() => decodeProtobuf(broken));
        return error === undefined || error instanceof ApiError;
      }),
      { numRuns: 300 },
    );
  });
});

describe("encoding", () => {
  it.each([
    ["", "v1", "Pod"],
    ["", "v1", "Secret"],
    ["", "v1", "Service"],
    ["", "v1", "Event"],
    ["apps", "v1", "Deployment"],
    ["apps", "v1", "ControllerRevision"],
    ["batch", "v1", "CronJob"],
    ["coordination.k8s.io", "v1", "Lease"],
    ["certificates.k8s.io", "v1", "CertificateSigningRequest"],
    ["apiextensions.k8s.io", "v1", "CustomResourceDefinition"],
    ["autoscaling", "v2", "HorizontalPodAutoscaler"],
    ["meta.k8s.io", "v1", "DeleteOptions"],
  ])("comes back as it was: %s/%s %s", (group, version, kind) => {
    const typeKey = typeOf(group, version, kind) ?? "";
    const apiVersion = group ? `${group}/${version}` : version;
    fc.assert(
      fc.property(valuesOf({ kind: "struct", key: typeKey }, 0), (value) => {
        const { object } = normalize(typeKey, { ...(value as object), apiVersion, kind });
        expect(decodeProtobuf(encodeProtobuf(object))).toEqual({ apiVersion, kind, object });
      }),
      { numRuns: 25 },
    );
  });
});

/** Values of a type, of a size that gets smaller with depth. */
function valuesOf(type: TypeRef, depth: number): fc.Arbitrary<unknown> {
  switch (type.kind) {
    case "scalar":
      return scalars[type.name];
    case "special":
      return specials[type.name];
    case "items":
      return fc.array(fc.string(), { minLength: 1, maxLength: 2 });
    case "list":
      return depth > 5 ? fc.constant([]) : fc.array(valuesOf(type.of, depth + 1), { maxLength: 2 });
    case "map":
      return depth > 5 ? fc.constant({}) : fc.dictionary(fc.string(), valuesOf(type.of, depth + 1), { maxKeys: 2 });
    case "struct": {
      const fields = structOf(type.key)?.fields ?? [];
      if (depth > 5) return fc.constant({});
      const shape = fields.map(({ name, type: inner }) => [name, fc.option(valuesOf(inner, depth + 1))]);
      return fc.record(Object.fromEntries(shape), { requiredKeys: [] });
    }
  }
}

const scalars = {
  string: fc.string({ unit: "grapheme" }),
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  float64: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64")),
};
const seconds = fc.integer({ min: 0, max: 4_000_000_000 }).map((at) => new Date(at * 1000).toISOString().slice(0, 19));
const json = fc.constantFrom<unknown>(1, "x", true, { a: [null, { b: 1 }] });
const specials = {
  Time: seconds.map((at) => `${at}Z`),
  MicroTime: fc.tuple(seconds, fc.nat(999_999)).map(([at, micros]) => `${at}.${String(micros).padStart(6, "0")}Z`),
  Quantity: fc.constantFrom<unknown>("1", "250m", "1024Mi", 7, "1e3"),
  IntOrString: fc.oneof(fc.integer(), fc.string()),
  RawExtension: json,
  FieldsV1: fc.constant({ "f:metadata": {} }),
  JSON: json,
  JSONSchemaPropsOrBool: fc.constantFrom<unknown>(true, false, { type: "string" }),
  JSONSchemaPropsOrArray: fc.constantFrom<unknown>({ type: "string" }, [{ type: "string" }, { minimum: 0 }]),
  JSONSchemaPropsOrStringArray: fc.constantFrom<unknown>({ required: ["a"] }, ["a", "b"]),
};

function caught(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return undefined;
}
