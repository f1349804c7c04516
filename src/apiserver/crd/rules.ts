/** The rules of a schema about one value, each a function that adds what is wrong to a list. */
import type { OpenApiSchema } from "#api/schema";
import { equal, isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import { integerRange, stringFormat } from "./formats.ts";
import { childPath, type Path } from "./path.ts";
import { matcherOf } from "./pattern.ts";

/** A rule ignores values of types it says nothing about; those are the type's business. */
export type Rule = (value: unknown, path: Path, errors: FieldError[]) => void;

export function rulesOf(schema: OpenApiSchema): Rule[] {
  return [
    ...enumRule(schema),
    ...stringRules(schema),
    ...numberRules(schema),
    ...listRules(schema),
    ...objectRules(schema),
  ];
}

function enumRule({ enum: allowed }: OpenApiSchema): Rule[] {
  if (!allowed) return [];
  return [
    (value, path, errors) => {
      if (!allowed.some((candidate) => equal(candidate, value))) errors.push(field.notSupported(path, value, allowed));
    },
  ];
}

function stringRules({ minLength, maxLength, pattern, format }: OpenApiSchema): Rule[] {
  const checks: ((value: string, path: Path, errors: FieldError[]) => void)[] = [];
  if (maxLength !== undefined) {
    checks.push((value, path, errors) => {
      if (value.length > maxLength && codePoints(value) > maxLength) errors.push(field.tooLong(path, maxLength));
    });
  }
  if (minLength !== undefined) {
    checks.push((value, path, errors) => {
      if (codePoints(value) >= minLength) return;
      errors.push(field.invalid(path, value, `${path} in body should be at least ${minLength} chars long`));
    });
  }
  const matches = pattern ? matcherOf(pattern) : undefined;
  if (matches) {
    checks.push((value, path, errors) => {
      if (matches(value)) return;
      errors.push(field.invalid(path, value, `${path} in body should match '${pattern}'`));
    });
  }
  const hasFormat = format ? stringFormat(format) : undefined;
  if (hasFormat) {
    checks.push((value, path, errors) => {
      if (hasFormat(value)) return;
      errors.push(
        field.typeInvalid(path, value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`),
      );
    });
  }
  return checks.map((check) => (value, path, errors) => {
    if (typeof value === "string") check(value, path, errors);
  });
}

/** UTF-16 pairs count once, as runes do. */
function codePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    count++;
    const code = text.codePointAt(at);
    if (code !== undefined && code > 0xffff) at++;
  }
  return count;
}

function numberRules(schema: OpenApiSchema): Rule[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format } = schema;
  const checks: ((value: number | bigint) => string | undefined)[] = [];
  if (minimum !== undefined) {
    checks.push((value) =>
      exclusiveMinimum
        ? complaint(value > minimum, `should be greater than ${minimum}`)
        : complaint(value >= minimum, `should be greater than or equal to ${minimum}`),
    );
  }
  if (maximum !== undefined) {
    checks.push((value) =>
      exclusiveMaximum
        ? complaint(value < maximum, `should be less than ${maximum}`)
        : complaint(value <= maximum, `should be less than or equal to ${maximum}`),
    );
  }
  if (multipleOf !== undefined) {
    checks.push((value) => complaint(isMultiple(Number(value), multipleOf), `should be a multiple of ${multipleOf}`));
  }
  const range = format ? integerRange(format) : undefined;
  if (range) {
    checks.push((value) =>
      complaint(value >= range[0] && value <= range[1], `should be within the range of ${format}`),
    );
  }
  return checks.map((check) => (value, path, errors) => {
    if (typeof value !== "number" && typeof value !== "bigint") return;
    const wrong = check(value);
    if (wrong) errors.push(field.invalid(path, value, `${path} in body ${wrong}`));
  });
}

function complaint(fine: boolean, text: string): string | undefined {
  return fine ? undefined : text;
}

/** 0.3 is a multiple of 0.1, although their quotient is not whole in binary. */
function isMultiple(value: number, of: number): boolean {
  const quotient = value / of;
  return Math.abs(quotient - Math.round(quotient)) < 1e-9 * Math.max(1, Math.abs(quotient));
}

function listRules({ minItems, maxItems }: OpenApiSchema): Rule[] {
  if (minItems === undefined && maxItems === undefined) return [];
  return [
    (value, path, errors) => {
      if (!Array.isArray(value)) return;
      if (maxItems !== undefined && value.length > maxItems) errors.push(field.tooMany(path, value.length, maxItems));
      if (minItems !== undefined && value.length < minItems) {
        errors.push(field.invalid(path, value.length, `${path} in body should have at least ${minItems} items`));
      }
    },
  ];
}

function objectRules({ required = [], minProperties, maxProperties }: OpenApiSchema): Rule[] {
  if (required.length === 0 && minProperties === undefined && maxProperties === undefined) return [];
  return [
    (value, path, errors) => {
      if (!isObject(value)) return;
      for (const name of required) {
        if (!Object.hasOwn(value, name)) errors.push(field.required(childPath(path, name)));
      }
      if (minProperties === undefined && maxProperties === undefined) return;
      const count = Object.keys(value).length;
      if (maxProperties !== undefined && count > maxProperties) errors.push(field.tooMany(path, count, maxProperties));
      if (minProperties !== undefined && count < minProperties) {
        errors.push(field.invalid(path, count, `${path} in body should have at least ${minProperties} properties`));
      }
    },
  ];
}
