import { describe, expect, it } from "vitest";
import { DEFAULT_GATES } from "../../../app/hub-choice.ts";
import { chosenGates, gateArguments, gateCondition, HubGates, HubWorkGates } from "./gates.ts";

const TABLE = { On: true, Off: false };

describe("feature gates", () => {
  it("stand as they do by themselves when nobody says otherwise, and nothing is told to the program", () => {
    const choice = chosenGates(TABLE, undefined);
    expect(choice).toEqual({ gates: TABLE, unknown: [] });
    expect(gateArguments(TABLE, choice.gates)).toEqual([]);
  });

  it("of the hub are those that its program has, and stand as they do there", () => {
    expect({ ...HubGates, ...HubWorkGates }).toEqual(DEFAULT_GATES);
  });

  it("are told where they differ, in an order that is always the same", () => {
    const { gates } = chosenGates(TABLE, [{ feature: "On" }, { feature: "Off", mode: "Enable" }]);
    expect(gates).toEqual({ On: false, Off: true });
    expect(gateArguments(TABLE, gates)).toEqual(["--feature-gates=Off=true,On=false"]);
  });

  it("are not told when somebody asks for what is so anyway", () => {
    expect(gateArguments(TABLE, chosenGates(TABLE, [{ feature: "On", mode: "Enable" }]).gates)).toEqual([]);
  });

  it.each([
    ["Nonsense", "Disable", true, "nobody knows it"],
    ["Nonsense", "Enable", true, "nobody knows it"],
    ["ClusterImporter", "Enable", true, "upstream has it and we do not"],
    ["ClusterImporter", "Disable", false, "it is off here in any case"],
    ["toString", "Enable", true, "a table has no names but its own"],
  ] as const)("%s, %s: reported is %s, because %s", (feature, mode, isReported, _because) => {
    expect(chosenGates(TABLE, [{ feature, mode }]).unknown).toEqual(isReported ? [feature] : []);
  });

  it("that there are not are named with the field that wishes them", () => {
    const strange = chosenGates(TABLE, [
      { feature: "B", mode: "Enable" },
      { feature: "A", mode: "Enable" },
    ]);
    const claim = gateCondition({ registration: strange, work: chosenGates(TABLE) });
    expect(claim).toMatchObject({ type: "ValidFeatureGates", status: "False", reason: "InvalidFeatureGatesExisting" });
    expect(claim.message).toContain("A, B (registration)");
    expect(claim.message).not.toContain("work");
    expect(gateCondition({ registration: chosenGates(TABLE) })).toMatchObject({
      status: "True",
      reason: "FeatureGatesAllValid",
    });
  });
});
