/** How events of a watch follow each other: JSON line by line, protobuf with the length before each. */
import { notAcceptable } from "../errors.ts";
import { storedBytes } from "../store/index.ts";
import { encodeWatchEvent } from "../types/index.ts";
import { type Negotiated, PROTOBUF } from "./negotiation.ts";

export interface WatchFrames {
  readonly contentType: string;
  /** In pieces that follow each other, because the piece of an object is the same for all who watch it. */
  frame(type: string, object: unknown): readonly Uint8Array[];
}

const LENGTH_BYTES = 4;
const LINE_END = Buffer.from("}\n");

/** Throws 406 for a form in which events cannot be told apart. */
export function watchFrames({ mediaType }: Negotiated): WatchFrames {
  switch (mediaType) {
    case "application/json":
      return {
        contentType: mediaType,
        frame: (type, object) => [Buffer.from(`{"type":"${type}","object":`), storedBytes(object as object), LINE_END],
      };
    case PROTOBUF:
      return { contentType: `${PROTOBUF};stream=watch`, frame: (type, object) => [protobufFrame(type, object)] };
    case "application/yaml":
      throw notAcceptable(["application/json", PROTOBUF]);
  }
}

function protobufFrame(type: string, object: unknown): Uint8Array {
  const message = encodeWatchEvent(type, object as Record<string, unknown>);
  const frame = Buffer.alloc(LENGTH_BYTES + message.length);
  frame.writeUInt32BE(message.length);
  frame.set(message, LENGTH_BYTES);
  return frame;
}
