import { describe, expect, it } from "vitest";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP, Role, RoleBinding, type Subject } from "#api/rbac";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster } from "../../../../test/support/index.ts";
import { type Account, Rights } from "./rights.ts";

const account = (name: string, namespace = "default"): Account => ({
  user: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", "system:authenticated", `system:serviceaccounts:${namespace}`],
});

const bound = (kind: "Role" | "ClusterRole", role: string, ...subjects: Subject[]) => ({
  roleRef: { apiGroup: RBAC_GROUP, kind, name: role } as const,
  subjects,
});
const robot: Subject = { kind: "ServiceAccount", namespace: "default", name: "robot" };

/** Works of which each hears by way of one kind, so that one knows when a change of any kind has been heard of. */
const SENTINELS = ["RoleBinding", "ClusterRoleBinding", "Role", "ClusterRole"] as const;

/** With all rights in view, and everybody told of that. */
async function following(works: Readonly<Record<string, Account>>) {
  const stage = given();
  const { spoke, rights, told, clock } = stage;
  const wide = (name: string, mark = 0) => ({ name, labels: { mark: String(mark) } });
  const metadata = (name: string, mark = 0) => ({ ...wide(name, mark), namespace: "sentinels" });
  const subject = (kind: string): Subject => ({ kind: "ServiceAccount", namespace: "sentinels", name: kind });
  const touch = (mark: number) => {
    const toNothing = (kind: string) => bound("ClusterRole", "nothing", subject(kind));
    spoke.put(RoleBinding, { metadata: metadata("own", mark), ...toNothing("RoleBinding") });
    spoke.put(ClusterRoleBinding, { metadata: wide("own", mark), ...toNothing("ClusterRoleBinding") });
    spoke.put(Role, { metadata: metadata("sentinel", mark) });
    spoke.put(ClusterRole, { metadata: wide("sentinel", mark) });
  };
  for (const kind of ["Role", "ClusterRole"] as const) {
    spoke.put(RoleBinding, { metadata: metadata(kind), ...bound(kind, "sentinel", subject(kind)) });
  }
  touch(0);
  for (const kind of SENTINELS) rights.follow(kind, account(kind, "sentinels"));
  for (const [work, each] of Object.entries(works)) rights.follow(work, each);
  const everybodyIsTold = (expected: readonly string[]) =>
    eventually(() => {
      clock.advance(500);
      expect(told).toEqual(expect.arrayContaining([...expected]));
    });
  await everybodyIsTold([...SENTINELS, ...Object.keys(works)]);
  let marks = 0;
  /** Which of the works are told of a change. */
  const heard = async (change: () => void): Promise<string[]> => {
    told.length = 0;
    change();
    touch(++marks);
    await everybodyIsTold(SENTINELS);
    return [...new Set(told)].filter((work) => Object.hasOwn(works, work)).sort();
  };
  return { ...stage, heard };
}

function given() {
  const metadata = (name: string) => ({ name, namespace: "default" });
  const spoke = fakeCluster(
    [Role, { metadata: metadata("editor") }, { metadata: metadata("other") }],
    [RoleBinding, { metadata: metadata("robot"), ...bound("Role", "editor", robot) }],
    [ClusterRole, { metadata: { name: "viewer" } }],
    [ClusterRoleBinding],
  );
  const clock = new ManualClock();
  const told: string[] = [];
  const watches: (AbortSignal | undefined)[] = [];
  const client = {
    ...spoke.client,
    watch: async (...[kind, options]: Parameters<typeof spoke.client.watch>) => {
      watches.push(options?.signal);
      return spoke.client.watch(kind, options);
    },
  } as typeof spoke.client;
  const rights = new Rights({ client, clock, log: silentLog, onChange: (work) => told.push(work) });
  const open = () => watches.filter((signal) => !signal?.aborted).length;
  return { spoke, rights, open, told, clock, metadata };
}

describe("works with an executor", () => {
  it("are looked at once more when all rights are in view, because they may have changed before", async () => {
    const { rights, told, clock } = given();
    rights.follow("w", account("robot"));
    await eventually(() => {
      clock.advance(500);
      expect(told).toEqual(["w"]);
    });
  });

  it("hear of what changes the rights of that executor, and of nothing else", async () => {
    const { spoke, heard, metadata } = await following({
      robots: account("robot"),
      another: account("another"),
      elsewhere: account("robot", "elsewhere"),
    });
    const everybody = { kind: "Group", apiGroup: RBAC_GROUP, name: "system:serviceaccounts" } as const;
    const user = { kind: "User", apiGroup: RBAC_GROUP, name: "system:serviceaccount:default:another" } as const;

    const rules = (...verbs: string[]) => [{ apiGroups: [""], resources: ["configmaps"], verbs }];
    expect(await heard(() => spoke.put(Role, { metadata: metadata("editor"), rules: rules("get") }))).toEqual([
      "robots",
    ]);
    expect(await heard(() => spoke.put(Role, { metadata: metadata("other"), rules: rules("get") }))).toEqual([]);
    const all = bound("ClusterRole", "viewer", everybody);
    expect(await heard(() => spoke.put(ClusterRoleBinding, { metadata: { name: "all" }, ...all }))).toEqual([
      "another",
      "elsewhere",
      "robots",
    ]);
    expect(await heard(() => spoke.put(ClusterRole, { metadata: { name: "viewer" }, rules: rules("list") }))).toEqual([
      "another",
      "elsewhere",
      "robots",
    ]);
    const one = bound("ClusterRole", "viewer", user);
    expect(await heard(() => spoke.put(ClusterRoleBinding, { metadata: { name: "one" }, ...one }))).toEqual([
      "another",
    ]);
    expect(await heard(() => spoke.drop(RoleBinding, "default/robot"))).toEqual(["robots"]);
    expect(await heard(() => spoke.drop(Role, "default/editor"))).toEqual([]);
  });

  it("make the agent watch roles and bindings, and without them it watches nothing", async () => {
    const { rights, open } = given();
    expect(open()).toBe(0);
    rights.follow("a", account("robot"));
    rights.follow("b", account("robot"));
    await eventually(() => expect(open()).toBe(4));
    rights.leave("a");
    expect(open()).toBe(4);
    rights.leave("b");
    expect(open()).toBe(0);
  });
});
