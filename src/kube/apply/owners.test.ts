import { expect, it } from "vitest";
import type { OwnerReference } from "#api/meta";
import { claiming, isClaimed, wantedOwners } from "./owners.ts";

const owner = (name: string, uid = name): OwnerReference => ({ apiVersion: "work/v1", kind: "Work", name, uid });

it.each([
  ["no policy leaves owners alone", [owner("a")], undefined, [owner("a")]],
  ["an owner is added beside others", [owner("a")], { mode: "owned", reference: owner("b") }, [owner("a"), owner("b")]],
  ["an owner that is there is not added again", [owner("a")], { mode: "owned", reference: owner("a") }, [owner("a")]],
  [
    "an owner that was made anew takes its own place",
    [owner("a", "old"), owner("b")],
    { mode: "owned", reference: owner("a", "new") },
    [owner("a", "new"), owner("b")],
  ],
  [
    "an orphan loses only this owner",
    [owner("a"), owner("b")],
    { mode: "orphaned", reference: owner("a") },
    [owner("b")],
  ],
] as const)("%s", (_, current, policy, wanted) => {
  expect(wantedOwners(current, policy)).toEqual(wanted);
});

it("tells owners of one name apart by their group, because versions change and groups do not", () => {
  const other = { ...owner("a"), apiVersion: "other/v1" };
  const newer = { ...owner("a"), apiVersion: "work/v2" };
  expect(wantedOwners([other], { mode: "owned", reference: newer })).toEqual([other, newer]);
  expect(wantedOwners([owner("a")], { mode: "owned", reference: newer })).toEqual([newer]);
});

it.each([undefined, true, false])("a claim is no reference, and keeps nobody waiting (%s)", (blockOwnerDeletion) => {
  const reference = { ...owner("a"), ...(blockOwnerDeletion !== undefined && { blockOwnerDeletion }) };
  const policy = { mode: "owned", reference } as const;
  const claim = claiming(policy)?.reference ?? owner("b");
  expect(claim).not.toEqual(reference);
  expect(claim.blockOwnerDeletion ?? false).toBe(false);
  const object = (each: OwnerReference) => {
    return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", ownerReferences: [each] } };
  };
  expect([isClaimed(object(claim), policy), isClaimed(object(reference), policy)]).toEqual([true, false]);
});
