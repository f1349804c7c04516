/** The query and path parameters of operations. kubectl looks for some of them before it dares to send them. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly required?: true;
  readonly schema: { readonly type: string; readonly uniqueItems: true };
}

export const pathParameters = {
  name: { name: "name", in: "path", required: true, schema: { type: "string", uniqueItems: true } },
  namespace: { name: "namespace", in: "path", required: true, schema: { type: "string", uniqueItems: true } },
} as const;

export const pretty = query("pretty");

export const writing = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
export const patching = [...writing, query("force", "boolean")];
export const deleting = [
  query("dryRun"),
  query("gracePeriodSeconds", "integer"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];

const selecting = [
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
];
export const listing = [query("allowWatchBookmarks", "boolean"), ...selecting, query("watch", "boolean")];
export const deletingCollection = [...deleting, ...selecting];

function query(name: string, type = "string"): Parameter {
  return { name, in: "query", schema: { type, uniqueItems: true } };
}
