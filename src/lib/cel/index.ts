/**
 * The Common Expression Language: an expression is read, its types are checked against the variables it may use,
 * and it runs within a budget. Rules of CustomResourceDefinitions, conditions of admission, resource graphs and
 * conditions of work are written in it.
 */
export type { Call, Expr, MapEntry } from "./ast.ts";
export {
  createEnvironment,
  DEFAULT_COST_LIMIT,
  type Environment,
  type EnvironmentOptions,
  type EvaluateOptions,
  type Program,
} from "./environment.ts";
export { CelError, type CelErrorKind, type Issue } from "./errors.ts";
export { declare, type FunctionDeclaration, type Overload, overload, parseType } from "./functions.ts";
export { SyntaxIssue } from "./lexer.ts";
export type { ExprFactory, Macro } from "./macros.ts";
export { fromCel, toCel } from "./native.ts";
export type { Range } from "./range.ts";
export type { Reference } from "./references.ts";
export { asResource, escapeName, LARGEST_REQUEST, type SchemaTypeOptions, typeFromSchema } from "./schema.ts";
export {
  BOOL,
  BYTES,
  type CelType,
  DOUBLE,
  DURATION,
  DYN,
  formatType,
  INT,
  isOptionalType,
  listOf,
  mapOf,
  NULL,
  type ObjectField,
  type ObjectType,
  objectType,
  opaque,
  optionalOf,
  STRING,
  TIMESTAMP,
  UINT,
} from "./types.ts";
export { Substitution } from "./unify.ts";
export {
  type CelValue,
  Duration,
  MapValue,
  NativeMap,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
} from "./values.ts";
