/**
 * Protobuf bodies as Go clients write them, by hand for three kinds. It shares nothing with the server's
 * own decoder, so that one mistake cannot hide another.
 */

const MAGIC = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const BYTES = 2;
const VARINT = 0;

type Field = readonly [number: number, value: string | number | Buffer | undefined];

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

export function configMap(name: string, data: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(data).map(([key, value]): Field => [2, message([1, key], [2, value])]);
  return unknown("v1", "ConfigMap", message([1, objectMeta(name)], ...entries));
}

export function namespace(name: string): Buffer {
  return unknown("v1", "Namespace", message([1, objectMeta(name)], [2, message()], [3, message([1, ""])]));
}

export function lease(
  name: string,
  {
    holder,
    seconds,
    renewed,
    resourceVersion,
  }: { holder: string; seconds: number; renewed: Date; resourceVersion?: string },
): Buffer {
  const time = message([1, Math.floor(renewed.getTime() / 1000)], [2, renewed.getMilliseconds() * 1_000_000]);
  const spec = message([1, holder], [2, seconds], [4, time]);
  return unknown("coordination.k8s.io/v1", "Lease", message([1, objectMeta(name, resourceVersion)], [2, spec]));
}

export function deleteOptions(propagationPolicy: string): Buffer {
  return unknown("v1", "DeleteOptions", message([4, propagationPolicy]));
}

/** Go writes scalars without a pointer even when they are empty. */
function objectMeta(name: string, resourceVersion = ""): Buffer {
  return message([1, name], [2, ""], [3, ""], [4, ""], [5, ""], [6, resourceVersion], [7, 0], [8, message()]);
}

function unknown(apiVersion: string, kind: string, raw: Buffer): Buffer {
  return Buffer.concat([MAGIC, message([1, message([1, apiVersion], [2, kind])], [2, raw], [3, ""], [4, ""])]);
}

function message(...fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.map(([number, value]) => (value === undefined ? Buffer.alloc(0) : field(number, value))));
}

function field(number: number, value: string | number | Buffer): Buffer {
  if (typeof value === "number") return Buffer.concat([varint(number * 8 + VARINT), varint(value)]);
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(number * 8 + BYTES), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  return Buffer.from([...bytes, rest]);
}
