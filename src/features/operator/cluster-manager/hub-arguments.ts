/** Further arguments of the hub's programs, which have no field: an annotation of the ClusterManager holds them. */
import { type ClusterManager, OperatorAnnotation } from "#api/operator";
import { parseJson } from "#lib/json";
import { KnativeController } from "./names.ts";

export interface HubArguments {
  /** Only the registration controller's. */
  readonly registration: readonly string[];
  /** Only the Knative controller's. */
  readonly knative: readonly string[];
  /** Which controllers run, as `--controllers` says it; all unless told. */
  readonly controllers: readonly string[];
}

/** Thrown when the annotation makes no sense; the message is for people. */
export class HubArgumentsError extends Error {
  override readonly name = "HubArgumentsError";
}

const KNATIVE_FLAGS = [
  "--clusterprofile-provider-file",
  "--knative-cache",
  "--knative-demonstration",
  "--knative-manifests",
  "--knative-mirror",
  "--knative-removal-patience",
  "--manifest-allow-hosts",
  "--remote-deployments-poll-interval",
];
const REGISTRATION_FLAGS = ["--detach-patience", "--gc-resource-list", "--metrics-address"];
const CONTROLLERS = "--controllers";

const ALL_FLAGS = [CONTROLLERS, ...REGISTRATION_FLAGS, ...KNATIVE_FLAGS];

export function hubArgumentsOf({ metadata }: ClusterManager): HubArguments {
  const text = metadata.annotations?.[OperatorAnnotation.hubArguments];
  if (text === undefined) return { registration: [], knative: [], controllers: ["*"] };
  const registration: string[] = [];
  const knative: string[] = [];
  let controllers: readonly string[] = ["*"];
  for (const word of wordsIn(text)) {
    const [flag = "", ...value] = word.split("=");
    if (value.length === 0) throw misplaced(`${word} has no value; write ${flag}=VALUE`);
    if (flag === CONTROLLERS) controllers = value.join("=").split(",").filter(Boolean);
    else if (KNATIVE_FLAGS.includes(flag)) knative.push(word);
    else if (REGISTRATION_FLAGS.includes(flag)) registration.push(word);
    else throw misplaced(`${flag} cannot be given there; there are ${ALL_FLAGS.join(", ")}`);
  }
  return { registration, knative, controllers };
}

export function hasArgument(words: readonly string[], flag: string): boolean {
  return words.some((word) => word.startsWith(`${flag}=`));
}

function wordsIn(text: string): readonly string[] {
  const value = parsed(text);
  if (Array.isArray(value) && value.every((word) => typeof word === "string")) return value;
  throw misplaced('it is no JSON list of words, such as ["--knative-manifests=/releases"]');
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

function misplaced(problem: string): HubArgumentsError {
  return new HubArgumentsError(`Annotation ${OperatorAnnotation.hubArguments} cannot be used: ${problem}`);
}

/** What each of the two programs is told to run; undefined where nothing is left to it. */
export interface Shares {
  readonly registration: string | undefined;
  readonly knative: string | undefined;
}

/** A choice of a hub's controllers, divided among its two programs. */
export function shared(words: readonly string[]): Shares {
  const knatives: readonly string[] = KnativeController.controllers;
  const isAll = words.includes("*");
  const ofKnative = knatives.filter((name) => !words.includes(`-${name}`) && (isAll || words.includes(name)));
  const others = words.filter((word) => word !== "*" && !knatives.includes(word.replace(/^-/, "")));
  const ofRegistration = isAll ? ["*", ...others, ...knatives.map((name) => `-${name}`)] : others;
  return { registration: argument(ofRegistration), knative: argument(ofKnative) };
}

function argument(words: readonly string[]): string | undefined {
  return words.some((word) => !word.startsWith("-")) ? `${CONTROLLERS}=${words.join(",")}` : undefined;
}
