/**
 * The built-in Kubernetes types: which fields they have, what Go makes of a JSON body of such a type, and how
 * the same body reads and writes as protobuf. All of it is driven by one generated table.
 */
export { type Normalized, normalize } from "./normalize.ts";
export { type Decoded, decodeProtobuf } from "./protobuf-decode.ts";
export { encodeProtobuf, encodeWatchEvent } from "./protobuf-encode.ts";
export { canonicalQuantity } from "./quantity.ts";
export { type Field, fieldsOf, type StructType, structOf, type TypeRef, typeKeys, typeOf } from "./table.ts";
export { WireWriter } from "./wire.ts";
