/** The parts that tables are made of. */
import type { DynamicObject } from "#api/meta";
import type { TableColumn, TableLayout } from "../../resource.ts";
import { fieldsAt, objectsAt, textAt, textMapAt } from "../fields.ts";
import { age } from "./age.ts";

export const NONE = "<none>";

type CellValue = string | number | boolean | null;
type Cell = (object: DynamicObject, now: Date) => CellValue;

/** A column with what stands in it. */
export interface Column extends TableColumn {
  readonly cell: Cell;
}

export function column(name: string, description: string, cell: Cell, type: TableColumn["type"] = "string"): Column {
  return { name, type, format: "", description, priority: 0, cell };
}

/** A column of whole numbers; what is missing counts as none. */
export function count(name: string, description: string, cell: (object: DynamicObject) => number | undefined): Column {
  return column(name, description, (object) => cell(object) ?? 0, "integer");
}

/** Columns that show only when asked for wide output. */
export function wide(...columns: Column[]): Column[] {
  return columns.map((shown) => ({ ...shown, priority: 1 }));
}

export const nameColumn: Column = {
  ...column("Name", "The name, unique among objects of this kind in the namespace.", ({ metadata }) => metadata.name),
  format: "name",
};

export const ageColumn = column("Age", "The time since the object was created.", ({ metadata }, now) =>
  age(metadata.creationTimestamp, now),
);

/** A table of these columns. */
export function layout(...columns: Column[]): TableLayout {
  return {
    columns: columns.map(({ cell: _, ...definition }) => definition),
    row: (object, now) => columns.map(({ cell }) => cell(object, now)),
  };
}

/** Kinds without columns of their own. */
export const nameAndCreation = layout(
  nameColumn,
  column("Created At", "When the object was created.", ({ metadata }) => metadata.creationTimestamp ?? "<unknown>"),
);

export const nameAndAge = layout(nameColumn, ageColumn);

/** `a=b,c=d` in order of key. */
export function labelsText(labels: unknown): string {
  const pairs = textMapAt(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.sort().join(",") || NONE;
}

/** The columns that say what runs in a pod template. */
export function containerColumns(podSpecOf: (object: DynamicObject) => unknown): Column[] {
  const listed = (object: DynamicObject, key: string) =>
    objectsAt(podSpecOf(object), "containers")
      .map((container) => textAt(container, key))
      .join(",");
  return wide(
    column("Containers", "The names of the containers in the template.", (object) => listed(object, "name")),
    column("Images", "The images of the containers in the template.", (object) => listed(object, "image")),
  );
}

export function templateSpec(object: DynamicObject): unknown {
  return fieldsAt(object, "spec", "template", "spec");
}

/** At most three of a list, and how many were left out. */
export function firstThree(texts: readonly string[]): string {
  if (texts.length === 0) return NONE;
  const more = texts.length > 3 ? ` + ${texts.length - 3} more...` : "";
  return `${texts.slice(0, 3).join(",")}${more}`;
}

/** A text, or `<none>`. */
export function orNone(text: string): string {
  return text === "" ? NONE : text;
}
