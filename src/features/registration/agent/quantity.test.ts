import { describe, expect, it } from "vitest";
import { sumOfQuantities } from "./quantity.ts";

describe("the sum of quantities", () => {
  it.each<[(string | number)[], string]>([
    [[], "0"],
    [["4", 4], "8"],
    [["500m", "500m"], "1"],
    [["250m", "1"], "1250m"],
    [["0.5", "1.25"], "1750m"],
    [["16393220Ki", "16393220Ki"], "32786440Ki"],
    [["1Gi", "1Gi"], "2Gi"],
    [["512Mi", "512Mi"], "1Gi"],
    [["1Ki", "1"], "1025"],
    [["1k", "1k"], "2k"],
    [["1000", "1000"], "2k"],
    [["1e3", "1"], "1001"],
    [["1E", "1E"], "2E"],
    [["100n", "900n"], "1u"],
    [["0", "0"], "0"],
    [["0Ki", "0"], "0"],
    [["3", "nonsense", ""], "3"],
  ])("%j: %s", (quantities, sum) => {
    expect(sumOfQuantities(quantities)).toBe(sum);
  });
});
