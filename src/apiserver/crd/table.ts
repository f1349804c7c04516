/** Printer columns: an object as a row of a table. */
import type { CustomResourceColumn } from "#api/apiextensions";
import { humanDuration } from "#lib/duration";
import { stringifyJson } from "#lib/json";
import { compile } from "#lib/jsonpath";
import type { TableColumn, TableLayout } from "../resource.ts";
import { isDateTime } from "./formats.ts";

type Cell = string | number | boolean | null;

const NAME: TableColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: "Name of the object.",
  priority: 0,
};

/** What a kind without columns of its own shows. */
const AGE: CustomResourceColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

/** The table of a kind: its name, then its columns. */
export function tableOf(columns: readonly CustomResourceColumn[] | undefined): TableLayout {
  const shown = columns && columns.length > 0 ? columns : [AGE];
  const cells = shown.map(({ type, jsonPath }) => ({ type, find: compile(jsonPath) }));
  return {
    columns: [
      NAME,
      ...shown.map(({ name, type, format = "", description = "", priority = 0 }) => ({
        name,
        type,
        format,
        description,
        priority,
      })),
    ],
    row: (object, now) => [object.metadata.name, ...cells.map(({ type, find }) => cellOf(type, find(object)[0], now))],
  };
}

/** A path may find several values; the first one is shown. A value that does not fit its column is not. */
function cellOf(type: TableColumn["type"], value: unknown, now: Date): Cell {
  if (value === undefined || value === null) return null;
  switch (type) {
    case "string":
      return typeof value === "object" ? stringifyJson(value) : String(value);
    case "integer":
      return isNumber(value) ? Math.trunc(Number(value)) : null;
    case "number":
      return isNumber(value) ? Number(value) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? age(value, now) : null;
  }
}

function age(time: string, now: Date): string {
  return isDateTime(time) ? humanDuration(now.getTime() - new Date(time).getTime()) : "<invalid>";
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
