import { describe, expect, it } from "vitest";
import { decodeProtobuf } from "../types/index.ts";
import { WireReader } from "../types/wire.ts";
import type { Negotiated } from "./negotiation.ts";
import { watchFrames } from "./watch-frames.ts";

const plain = { form: "object", tableVersion: "v1", pretty: false } as const;
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { key: "ä" } };

describe("frames of a watch", () => {
  it("are lines as JSON", () => {
    const { contentType, frame } = watchFrames({ ...plain, mediaType: "application/json" });
    expect(contentType).toBe("application/json");
    expect(frame("ADDED", object).toString()).toBe(`${JSON.stringify({ type: "ADDED", object })}\n`);
  });

  it("tell their length as protobuf, and hold the object with its envelope", () => {
    const { contentType, frame } = watchFrames({ ...plain, mediaType: "application/vnd.kubernetes.protobuf" });
    const bytes = frame("MODIFIED", object);
    expect(contentType).toBe("application/vnd.kubernetes.protobuf;stream=watch");
    expect(bytes.readUInt32BE()).toBe(bytes.length - 4);

    const event = new WireReader(bytes, 4);
    expect(event.tag()).toEqual({ number: 1, wire: 2 });
    expect(event.string()).toBe("MODIFIED");
    expect(event.tag()).toEqual({ number: 2, wire: 2 });
    const raw = event.message();
    expect(raw.tag()).toEqual({ number: 1, wire: 2 });
    expect(decodeProtobuf(raw.bytes()).object).toMatchObject(object);
    expect(event.done).toBe(true);
  });

  it("do not exist as YAML, because documents there have no end", () => {
    const yaml: Negotiated = { ...plain, mediaType: "application/yaml" };
    expect(() => watchFrames(yaml)).toThrow("media types");
  });
});
