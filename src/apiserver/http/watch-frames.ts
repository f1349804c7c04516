/** How events of a watch follow each other: JSON line by line, protobuf with the length before each. */
import { notAcceptable } from "../errors.ts";
import { encodeWatchEvent } from "../types/index.ts";
import { type Negotiated, PROTOBUF } from "./negotiation.ts";
import { storedText } from "./stored-text.ts";

export interface WatchFrames {
  readonly contentType: string;
  frame(type: string, object: unknown): string | Uint8Array;
}

const LENGTH_BYTES = 4;

/** Throws 406 for a form in which events cannot be told apart. */
export function watchFrames({ mediaType }: Negotiated): WatchFrames {
  switch (mediaType) {
    case "application/json":
      return {
        contentType: mediaType,
        frame: (type, object) => `{"type":"${type}","object":${storedText(object as object)}}\n`,
      };
    case PROTOBUF:
      return { contentType: `${PROTOBUF};stream=watch`, frame: protobufFrame };
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
