import { describe, expect, it } from "vitest";
import { BoundedCache } from "./index.ts";

describe("what is remembered", () => {
  it("is bounded, and what was used last stays", () => {
    const cache = new BoundedCache<number>(2);
    cache.set("a", 1);
    cache.set("b", 2);
    cache.get("a");
    cache.set("c", 3);
    expect(cache.size).toBe(2);
    expect(cache.get("b")).toBeUndefined();
    expect(cache.get("a")).toBe(1);
  });
});
