import { describe, expect, it } from "vitest";
import { type Form, negotiate, swaggerEncoding } from "./negotiation.ts";

const JSON_TYPE = "application/json";
const PROTOBUF = "application/vnd.kubernetes.protobuf";
const METADATA = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

function chosen(accept: string | undefined, protobuf: readonly Form[] = ["object", "metadata"]): string {
  const { mediaType, form } = negotiate({ accept, userAgent: undefined, pretty: null, transforms: true, protobuf });
  return `${mediaType} ${form}`;
}

describe("negotiation", () => {
  it.each([
    [undefined, `${JSON_TYPE} object`],
    ["*/*", `${JSON_TYPE} object`],
    ["application/yaml", "application/yaml object"],
    [PROTOBUF, `${PROTOBUF} object`],
    [`${PROTOBUF};${METADATA}`, `${PROTOBUF} metadata`],
    [`text/html, ${PROTOBUF}`, `${PROTOBUF} object`],
    // Whoever also reads text gets text.
    [`${PROTOBUF},${JSON_TYPE}`, `${JSON_TYPE} object`],
    [`${PROTOBUF}, */*`, `${JSON_TYPE} object`],
    // But metadata comes in the form that is named first.
    [`${PROTOBUF};${METADATA},${JSON_TYPE};${METADATA},${JSON_TYPE}`, `${PROTOBUF} metadata`],
    [`${JSON_TYPE};${METADATA},${PROTOBUF};${METADATA}`, `${JSON_TYPE} metadata`],
    // A Table has no protobuf.
    [`${PROTOBUF};as=Table;g=meta.k8s.io;v=v1,${PROTOBUF}`, `${PROTOBUF} object`],
    [`${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1,${PROTOBUF}`, `${PROTOBUF} object`],
  ])("of %s chooses %s", (accept, expected) => {
    expect(chosen(accept)).toBe(expected);
  });

  it("gives of custom kinds only the metadata as protobuf, because nothing else of them has numbers", () => {
    expect(chosen(`${PROTOBUF};${METADATA}`, ["metadata"])).toBe(`${PROTOBUF} metadata`);
    expect(() => chosen(PROTOBUF, ["metadata"])).toThrow("only the following media types are accepted");
  });

  it("says everything that it would have accepted", () => {
    expect(() => chosen("text/html")).toThrow(
      /application\/json, application\/yaml, application\/vnd.kubernetes.proto/,
    );
  });
});

describe("the encoding of OpenAPI v2", () => {
  it.each([
    [undefined, "json"],
    ["application/json", "json"],
    ["application/json;q=0.9, */*;q=0.8", "json"],
    ["application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "protobuf"],
    ["application/com.github.proto-openapi.spec.v2.v1.0+protobuf,application/json", "protobuf"],
  ])("for %s is %s", (accept, expected) => {
    expect(swaggerEncoding(accept)).toBe(expected);
  });

  it("is none for those who want something else", () => {
    expect(() => swaggerEncoding("application/vnd.kubernetes.protobuf")).toThrow("media types");
  });
});
