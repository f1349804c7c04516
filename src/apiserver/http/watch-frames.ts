/** How events of a watch follow each other: JSON line by line, protobuf with the length before each. */
import { notAcceptable } from "../errors.ts";
import { Generations, storedBytes } from "../store/index.ts";
import { encodeWatchEvent } from "../types/index.ts";
import { type Negotiated, PROTOBUF } from "./negotiation.ts";

export interface WatchFrames {
  readonly contentType: string;
  /** Not to be changed: whoever watches the same object gets the same buffer. */
  frame(type: string, object: object): Buffer;
}

const LENGTH_BYTES = 4;
const LINE_END = Buffer.from("}\n");

/** Throws 406 for a form in which events cannot be told apart. */
export function watchFrames({ mediaType }: Negotiated): WatchFrames {
  switch (mediaType) {
    case "application/json":
      return { contentType: mediaType, frame: json };
    case PROTOBUF:
      return { contentType: `${PROTOBUF};stream=watch`, frame: protobuf };
    case "application/yaml":
      throw notAcceptable(["application/json", PROTOBUF]);
  }
}

const json = madeOnce((type, object) =>
  Buffer.concat([Buffer.from(`{"type":"${type}","object":`), storedBytes(object), LINE_END]),
);

const protobuf = madeOnce((type, object) => {
  const message = encodeWatchEvent(type, object as Record<string, unknown>);
  const frame = Buffer.alloc(LENGTH_BYTES + message.length);
  frame.writeUInt32BE(message.length);
  frame.set(message, LENGTH_BYTES);
  return frame;
});

/** An event goes to all its watchers within moments: what was made for the first is there for the others. */
const KEPT_BYTES = 1024 * 1024;

function madeOnce(make: (type: string, object: object) => Buffer): WatchFrames["frame"] {
  const frames = new Map<string, Generations<object, Buffer>>();
  return (type, object) => {
    let ofType = frames.get(type);
    if (!ofType) {
      ofType = new Generations(KEPT_BYTES, ({ length }) => length);
      frames.set(type, ofType);
    }
    const known = ofType.get(object);
    if (known) return known;
    const made = make(type, object);
    ofType.set(object, made);
    return made;
  };
}
