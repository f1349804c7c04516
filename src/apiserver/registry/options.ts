/** Query parameters of writes and lists, checked the way kube-apiserver checks them. */
import { badRequest, type FieldError, field, invalid } from "../errors.ts";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

export type FieldValidation = "Ignore" | "Warn" | "Strict";

const FIELD_VALIDATIONS = ["", "Ignore", "Strict", "Warn"] as const;
const LONGEST_MANAGER = 128;

/** `kind` is CreateOptions, UpdateOptions or PatchOptions: the object that an error blames. */
export function writeOptions(kind: string, query: URLSearchParams, userAgent: string | undefined): WriteOptions {
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
  if (kind === "PatchOptions" && query.has("force")) {
    errors.push(field.forbidden("force", "may not be specified for non-apply patch"));
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind }, errors);

  return {
    dryRun: dryRun.length > 0,
    fieldManager: fieldManager || managerFrom(userAgent),
    fieldValidation: fieldValidation === "" ? "Warn" : (fieldValidation as FieldValidation),
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
    limit: limitOf(query.get("limit") ?? ""),
    continueToken,
    resourceVersion: resourceVersion === "" ? undefined : revisionOf(resourceVersion),
    match: match as ListOptions["match"],
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  };
}

export function revisionOf(text: string): number {
  if (!/^\d{1,19}$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

function limitOf(text: string): number {
  if (text === "") return 0;
  if (!/^-?\d+$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Math.max(0, Number(text));
}
