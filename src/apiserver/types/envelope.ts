/** What surrounds every Kubernetes protobuf message: four bytes, then the kind, then the message. */
import { malformed, WireReader, WireType, WireWriter } from "./wire.ts";

const MAGIC = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);
const CONTENT_TYPE = "application/vnd.kubernetes.protobuf";

export interface Envelope {
  apiVersion: string;
  kind: string;
  raw: Uint8Array;
}

/** Whether the bytes begin like a Kubernetes protobuf message. */
export function isEnvelope(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

export function openEnvelope(bytes: Uint8Array): Envelope {
  if (!isEnvelope(bytes)) throw malformed("it does not begin with the expected prefix");
  const reader = new WireReader(bytes, MAGIC.length);
  const envelope: Envelope = { apiVersion: "", kind: "", raw: new Uint8Array() };
  while (!reader.done) {
    const { number, wire } = reader.tag();
    if (wire !== WireType.bytes) reader.skip(wire);
    else if (number === 1) Object.assign(envelope, typeMetaFrom(reader.message()));
    else if (number === 2) envelope.raw = reader.bytes();
    else if (number === 3) refuseOther("contentEncoding", reader.string(), "");
    else if (number === 4) refuseOther("contentType", reader.string(), CONTENT_TYPE);
    else reader.skip(wire);
  }
  return envelope;
}

export function sealEnvelope({ apiVersion, kind, raw }: Envelope): Uint8Array {
  const writer = new WireWriter();
  writer.message(1, (typeMeta) => {
    typeMeta.string(1, apiVersion);
    typeMeta.string(2, kind);
  });
  writer.bytes(2, raw);
  writer.string(3, "");
  writer.string(4, "");
  const message = writer.finish();
  const bytes = new Uint8Array(MAGIC.length + message.length);
  bytes.set(MAGIC);
  bytes.set(message, MAGIC.length);
  return bytes;
}

function typeMetaFrom(reader: WireReader): { apiVersion?: string; kind?: string } {
  const typeMeta: { apiVersion?: string; kind?: string } = {};
  while (!reader.done) {
    const { number, wire } = reader.tag();
    if (wire !== WireType.bytes) reader.skip(wire);
    else if (number === 1) typeMeta.apiVersion = reader.string();
    else if (number === 2) typeMeta.kind = reader.string();
    else reader.skip(wire);
  }
  return typeMeta;
}

function refuseOther(name: string, value: string, allowed: string): void {
  if (value !== "" && value !== allowed) throw malformed(`${name} ${JSON.stringify(value)} is not supported`);
}
