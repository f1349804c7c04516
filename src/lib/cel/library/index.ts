/** The libraries that every environment has: CEL's own, its extensions, and those of Kubernetes. */
import type { FunctionDeclaration } from "../functions.ts";
import { addressLibrary, CIDR_TYPE, IP_TYPE } from "./addresses.ts";
import { dateLibrary } from "./dates.ts";
import { encoderLibrary, regexLibrary } from "./encoders.ts";
import { FORMAT_TYPE, formatLibrary } from "./formats.ts";
import { listLibrary, setLibrary } from "./lists.ts";
import { mathLibrary } from "./math.ts";
import { optionalLibrary } from "./optionals.ts";
import { QUANTITY_TYPE, quantityLibrary } from "./quantity.ts";
import { SEMVER_TYPE, semverLibrary } from "./semver.ts";
import { standardLibrary } from "./standard.ts";
import { stringLibrary } from "./strings.ts";
import { URL_TYPE, urlLibrary } from "./url.ts";

export const STANDARD_LIBRARIES: readonly (readonly FunctionDeclaration[])[] = [
  standardLibrary,
  dateLibrary,
  optionalLibrary,
  stringLibrary,
  listLibrary,
  setLibrary,
  mathLibrary,
  encoderLibrary,
  regexLibrary,
  urlLibrary,
  addressLibrary,
  quantityLibrary,
  semverLibrary,
  formatLibrary,
];

/** The types that libraries bring. */
export const OPAQUE_TYPES: readonly string[] = [URL_TYPE, IP_TYPE, CIDR_TYPE, QUANTITY_TYPE, SEMVER_TYPE, FORMAT_TYPE];
