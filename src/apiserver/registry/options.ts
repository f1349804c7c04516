/** Query parameters of writes and lists, checked the way kube-apiserver checks them. */
import { badRequest, type FieldError, field, invalid, plainError } from "../errors.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** Whether an apply takes over what others own. */
  readonly force: boolean;
  /** What the request itself says of these. */
  readonly options: { readonly fieldManager?: string; readonly fieldValidation?: string };
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

const FIELD_VALIDATIONS = ["", "Ignore", "Strict", "Warn"] as const;
const LONGEST_MANAGER = 128;

/** `kind` is CreateOptions, UpdateOptions or PatchOptions: the object that an error blames. */
export function writeOptions(
  kind: string,
  query: URLSearchParams,
  userAgent: string | undefined,
  { isApply = false }: { isApply?: boolean } = {},
): WriteOptions {
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  const fieldManager = query.get("fieldManager") ?? "";
  const fieldValidation = query.get("fieldValidation") ?? "";

  const errors: FieldError[] = [];
  if (dryRun.some((value) => value !== "All")) errors.push(field.notSupported("dryRun", dryRun, ["All"]));
  if (Buffer.byteLength(fieldManager) > LONGEST_MANAGER) errors.push(field.tooLong("fieldManager", LONGEST_MANAGER));
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  else if (/[\u0000-\u001f\u007f]/.test(fieldManager)) {
    errors.push(field.invalid("fieldManager", fieldManager, "should only contain printable characters"));
  }
  if (!FIELD_VALIDATIONS.some((known) => known === fieldValidation)) {
    errors.push(field.notSupported("fieldValidation", fieldValidation, FIELD_VALIDATIONS));
  }
  if (isApply) {
    if (fieldManager === "") errors.push(field.required("fieldManager", "is required for apply patch"));
  } else if (kind === "PatchOptions" && query.has("force")) {
    errors.push(field.forbidden("force", "may not be specified for non-apply patch"));
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, errors);

  return {
    dryRun: dryRun.length > 0,
    fieldManager: fieldManager || managerFrom(userAgent),
    force: ["true", "1"].includes(query.get("force") ?? ""),
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation),
    options: { ...(fieldManager && { fieldManager }), ...(fieldValidation && { fieldValidation }) },
  };
}

/** Writers that give no name are called after their program: the User-Agent up to its first slash. */
function managerFrom(userAgent: string | undefined): string {
  const program = (userAgent ?? "").split("/")[0] ?? "";
  return program.replace(/[^\x20-\x7e]/g, "").slice(0, LONGEST_MANAGER) || "unknown";
}

export interface ListOptions {
  readonly limit: number;
  readonly continueToken: string;
  /** Undefined when the request names none. */
  readonly resourceVersion: number | undefined;
  readonly match: "" | "Exact" | "NotOlderThan";
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

export function listOptions(query: URLSearchParams): ListOptions {
  const resourceVersion = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  const continueToken = query.get("continue") ?? "";

  integerOf(query.get("timeoutSeconds") ?? ""); // means nothing for a list, and is looked at all the same

  const forbid = (why: string) => field.forbidden("resourceVersionMatch", why);
  const errors: FieldError[] = [];
  if (query.get("sendInitialEvents")) {
    errors.push(field.forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  if (match !== "") {
    if (match !== "Exact" && match !== "NotOlderThan") {
      errors.push(field.notSupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]));
    } else if (continueToken !== "") errors.push(forbid("resourceVersionMatch is forbidden when continue is provided"));
    else if (resourceVersion === "")
      errors.push(forbid("resourceVersionMatch is forbidden unless resourceVersion is provided"));
    else if (match === "Exact" && resourceVersion === "0") {
      errors.push(forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, errors);
  if (continueToken !== "" && resourceVersion !== "" && resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }

  return {
    limit: Math.max(0, integerOf(query.get("limit") ?? "")),
    continueToken,
    resourceVersion: resourceVersion === "" ? undefined : revisionOf(resourceVersion),
    match: match as ListOptions["match"],
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  };
}

/** The revision that a list names. */
export function revisionOf(text: string): number {
  const problem = revisionProblem(text);
  if (problem) throw badRequest(`invalid resource version: ${problem}`);
  return Number(text);
}

/** The revision that a get or a watch names: Go never dressed up this error of theirs. */
export function plainRevisionOf(text: string): number {
  const problem = revisionProblem(text);
  if (problem) throw plainError(problem);
  return Number(text);
}

function revisionProblem(text: string): string | undefined {
  if (/^\d{1,19}$/.test(text)) return undefined;
  const shown = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: invalid syntax`;
}

const LARGEST_INTEGER = 2n ** 63n - 1n;

/** A number in a query, as Go reads it. */
export function integerOf(text: string): number {
  if (text === "") return 0;
  const problem = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw problem("invalid syntax");
  const value = BigInt(text.replace("+", ""));
  if (value > LARGEST_INTEGER || value < -LARGEST_INTEGER - 1n) throw problem("value out of range");
  return Number(value);
}

/** A switch in a query: everything but `false` and `0` turns it on. */
export function booleanOf(text: string): boolean {
  return text !== "" && text !== "0" && text.toLowerCase() !== "false";
}
