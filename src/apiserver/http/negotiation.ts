/** Which form of an answer a client accepts: plain, Table or metadata only; JSON, YAML or protobuf. */
import { notAcceptable } from "../errors.ts";

export type Form = "object" | "table" | "metadata";

export const PROTOBUF = "application/vnd.kubernetes.protobuf";

export interface Negotiated {
  readonly mediaType: "application/json" | "application/yaml" | typeof PROTOBUF;
  readonly form: Form;
  /** `v1` or `v1beta1` of meta.k8s.io, for the Table asked for. */
  readonly tableVersion: string;
  readonly pretty: boolean;
}

interface Clause {
  readonly type: string;
  readonly params: ReadonlyMap<string, string>;
  readonly quality: number;
}

const TEXT = ["application/json", "application/yaml"] as const;
const BROWSERS = /^(curl|Wget|Mozilla\/5\.0)/;

export interface NegotiationInput {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly pretty: string | null;
  /** Whether the answer may be a Table or metadata only; discovery and reviews may not. */
  readonly transforms: boolean;
  /** The forms that exist as protobuf; for custom kinds that is only their metadata. */
  readonly protobuf: readonly Form[];
}

/**
 * Throws 406 when no clause of Accept can be served. A clause that asks for too much is passed over, and so is one
 * for whole objects as protobuf while there is another: text is quicker to write, and everybody who lists both reads
 * both. Metadata follows the client's order, because its items say their kind in JSON and not in protobuf, and
 * clients compare them with what they read one by one.
 */
export function negotiate(input: NegotiationInput): Negotiated {
  const { accept, userAgent, pretty, transforms, protobuf } = input;
  const wantsPretty = pretty === null ? BROWSERS.test(userAgent ?? "") : pretty === "true" || pretty === "1";
  let lastResort: Negotiated | undefined;
  for (const { type, params } of clausesOf(accept)) {
    const form = formOf(params);
    if (!form || (form.form !== "object" && !transforms)) continue;
    const mediaType = servedType(type);
    if (mediaType) return { mediaType, pretty: wantsPretty || params.get("pretty") === "1", ...form };
    if (type !== PROTOBUF || !protobuf.includes(form.form) || form.tableVersion !== "v1") continue;
    const asProtobuf: Negotiated = { mediaType: PROTOBUF, pretty: false, ...form };
    if (form.form === "metadata") return asProtobuf;
    lastResort ??= asProtobuf;
  }
  if (lastResort) return lastResort;
  throw notAcceptable(protobuf.length > 0 ? [...TEXT, PROTOBUF] : TEXT);
}

/** Whether a client asks for aggregated discovery, and understands the version that is served. */
export function acceptsAggregatedDiscovery(accept: string | undefined): boolean {
  const [first] = clausesOf(accept).filter(({ type, params }) => {
    if (!servedType(type)) return false;
    if (params.get("as") === undefined) return true;
    return params.get("g") === "apidiscovery.k8s.io" && params.get("v") === "v2";
  });
  return first?.params.get("as") === "APIGroupDiscoveryList";
}

const SWAGGER_PROTOBUF = /^application\/com\.github\.proto-openapi\.spec\.v2[@.]v1\.0\+protobuf$/;

/** In which of its two forms a client wants OpenAPI v2. Throws 406 for neither. */
export function swaggerEncoding(accept: string | undefined): "json" | "protobuf" {
  for (const { type } of clausesOf(accept)) {
    if (SWAGGER_PROTOBUF.test(type)) return "protobuf";
    if (servedType(type) === "application/json") return "json";
  }
  throw notAcceptable(["application/json", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"]);
}

function servedType(type: string): (typeof TEXT)[number] | undefined {
  if (type === "*/*" || type === "application/*") return "application/json";
  return TEXT.find((served) => served === type);
}

function formOf(params: ReadonlyMap<string, string>): Pick<Negotiated, "form" | "tableVersion"> | undefined {
  const as = params.get("as");
  const version = params.get("v") ?? "v1";
  if (as === undefined) return { form: "object", tableVersion: "v1" };
  if (params.get("g") !== "meta.k8s.io" || !["v1", "v1beta1"].includes(version)) return undefined;
  if (as === "Table") return { form: "table", tableVersion: version };
  if (as === "PartialObjectMetadata" || as === "PartialObjectMetadataList")
    return { form: "metadata", tableVersion: version };
  return undefined;
}

function clausesOf(accept: string | undefined): Clause[] {
  if (!accept?.trim()) return [{ type: "*/*", params: new Map(), quality: 1 }];
  return accept
    .split(",")
    .map(clauseOf)
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

function clauseOf(text: string): Clause {
  const [type = "", ...rest] = text.split(";").map((part) => part.trim());
  const params = new Map(
    rest.map((part): [string, string] => {
      const equals = part.indexOf("=");
      return equals < 0 ? [part, ""] : [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
    }),
  );
  const quality = Number(params.get("q") ?? 1);
  return { type: type.toLowerCase(), params, quality: Number.isFinite(quality) ? quality : 0 };
}
