import { expect, it } from "vitest";
import { canonicalQuantity } from "./index.ts";

it.each([
  ["0", "0"],
  ["0Gi", "0"],
  ["1", "1"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["0.5", "500m"],
  ["1.5", "1500m"],
  ["1.234", "1.234"], // already short, so kept as written
  ["100000", "100k"],
  ["1024", "1024"],
  ["1024Mi", "1Gi"],
  ["1000Mi", "1000Mi"],
  ["12Mi", "12Mi"],
  ["1.5Gi", "1536Mi"],
  ["0.5Mi", "512Ki"],
  ["0.5Ki", "512"],
  ["-12.5Ki", "-12800"],
  ["1.1Gi", "1181116006400m"],
  ["8Ei", "9223372036854775807"],
  ["1e3", "1e3"],
  ["1.5e3", "1500"],
  ["10e3", "10e3"],
  ["1000e3", "1e6"],
  ["1E", "1E"],
  ["1000E", "1000E"],
  ["-1000m", "-1"],
  ["+5000", "5k"],
  ["0.1n", "1n"],
  ["1u", "1u"],
  [".5", "500m"],
  ["5.", "5."],
])("%s is shown as %s", (given, shown) => {
  expect(canonicalQuantity(given)).toBe(shown);
});

it.each(["", ".", "-", "abc", "1 Gi", "1gi", "1KI", "1e", "1.2.3", "1e999999999", "9".repeat(1000)])(
  "%j is not a quantity",
  (given) => {
    expect(canonicalQuantity(given)).toBeUndefined();
  },
);
