/** Which form of an answer a client accepts: plain, Table or metadata only; JSON or YAML. */
import { notAcceptable } from "../errors.ts";

export type Form = "object" | "table" | "metadata";

export interface Negotiated {
  readonly mediaType: "application/json" | "application/yaml";
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

const SERVED = ["application/json", "application/yaml"] as const;
const BROWSERS = /^(curl|Wget|Mozilla\/5\.0)/;

export interface NegotiationInput {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  readonly pretty: string | null;
  /** Whether the answer may be a Table or metadata only; discovery and reviews may not. */
  readonly transforms: boolean;
}

/** Throws 406 when no clause of Accept can be served. A clause that asks for too much is passed over. */
export function negotiate({ accept, userAgent, pretty, transforms }: NegotiationInput): Negotiated {
  const wantsPretty = pretty === null ? BROWSERS.test(userAgent ?? "") : pretty === "true" || pretty === "1";
  for (const { type, params } of clausesOf(accept)) {
    const mediaType = servedType(type);
    if (!mediaType) continue;
    const form = formOf(params);
    if (!form || (form.form !== "object" && !transforms)) continue;
    return { mediaType, pretty: wantsPretty || params.get("pretty") === "1", ...form };
  }
  throw notAcceptable(SERVED);
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

function servedType(type: string): Negotiated["mediaType"] | undefined {
  if (type === "*/*" || type === "application/*") return "application/json";
  return SERVED.find((served) => served === type);
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
