/** The moments in the life of a work between which a program may die: every kind of write that an agent makes, by name. */
import type { Death, Moment, Phase } from "./story.ts";

export type Point = (moment: Moment) => boolean;

interface Write {
  readonly where: Moment["where"];
  readonly method: string;
  readonly path: RegExp;
  readonly body?: RegExp;
}

const during =
  (phase: Phase, { where, method, path, body = /(?:)/ }: Write): Point =>
  (moment) =>
    moment.phase === phase &&
    moment.where === where &&
    moment.method === method &&
    path.test(moment.path) &&
    body.test(moment.body);

const hub = (method: string, path: RegExp, body?: RegExp): Write => ({
  where: "hub",
  method,
  path,
  ...(body && { body }),
});
const spoke = (method: string, path: RegExp, body?: RegExp): Write => ({ ...hub(method, path, body), where: "spoke" });

const WORK = /\/manifestworks\/w$/;
const REPORT = /\/manifestworks\/w\/status$/;
const RECORD = /\/appliedmanifestworks\/[^/]+$/;
const LIST = /\/appliedmanifestworks\/[^/]+\/status$/;
const created = (name: string) => spoke("POST", /\/(configmaps|jobs)$/, new RegExp(`"name":"${name}"`));
const at = (name: string) => new RegExp(`/(configmaps|jobs)/${name}$`);

/** What the agent writes to the hub. */
export const HUB_POINTS: Readonly<Record<string, Point>> = {
  "the finalizer of the work": during("apply", hub("PATCH", WORK, /manifest-work-cleanup/)),
  "the first report": during("apply", hub("PATCH", REPORT, /"Applied"/)),
  "the report on a change": during("edit", hub("PATCH", REPORT, /"Applied"/)),
  "the word that the work is being deleted": during("delete", hub("PATCH", REPORT, /"Deleting"/)),
  "the end of the work": during("delete", hub("PATCH", WORK, /"finalizers"/)),
};

/** And to the spoke. */
export const SPOKE_POINTS: Readonly<Record<string, Point>> = {
  "the record": during("apply", spoke("POST", /\/appliedmanifestworks$/)),
  "the list of what comes": during("apply", spoke("PATCH", LIST)),
  "the first object": during("apply", created("a")),
  "the second object": during("apply", created("b")),
  "the orphan to be": during("apply", created("kept")),
  "the Job": during("apply", created("once")),
  "an object applied on the server": during("apply", spoke("PATCH", at("served"), /"data"/)),
  "the owner of that object": during("apply", spoke("PATCH", at("served"), /^\{"metadata":\{"uid"/)),
  "the list of what is there": during(
    "apply",
    spoke("PATCH", LIST, /"uid":"[^"]+".*"name":"once"|"name":"once".*"uid"/),
  ),
  "the list of what a change brings": during("edit", spoke("PATCH", LIST)),
  "a change of an object": during("edit", spoke("PUT", at("a"))),
  "an object that comes with a change": during("edit", created("c")),
  "the removal of what has left the work": during("edit", spoke("DELETE", at("b"))),
  "the state that the spoke is in": during("edit", spoke("PATCH", RECORD, /"annotations"/)),
  "the deletion of the record": during("delete", spoke("DELETE", RECORD)),
  "the removal of the first object": during("delete", spoke("DELETE", at("a"))),
  "the removal of another object": during("delete", spoke("DELETE", at("c"))),
  "the removal of the Job": during("delete", spoke("DELETE", at("once"))),
  "the removal of what was applied on the server": during("delete", spoke("DELETE", at("served"))),
  "the end of the record": during("delete", spoke("PATCH", RECORD, /"finalizers"/)),
};

/** Dies right before the write, or right after it, before the answer has come. */
export function dies(of: Death["of"], when: Moment["when"], [name, isPoint]: readonly [string, Point]): Death {
  return { name: `${when} ${name}`, of, isDue: (moment) => moment.when === when && isPoint(moment) };
}

/** Dies with the next write, whatever it is. */
export function diesSoon(): Death {
  return { name: "soon", of: "agent", isDue: ({ when }) => when === "after" };
}
