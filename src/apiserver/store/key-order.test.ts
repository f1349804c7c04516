import fc from "fast-check";
import { expect, it } from "vitest";
import { KeyOrder } from "./key-order.ts";

it("is what sorting all keys would give, whatever was added, removed and asked in between", () => {
  const key = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz", "a/a", "a/b", "a-/c", "aa/d");
  const step = fc.record({ key, read: fc.integer({ min: 0, max: 20 }).map((n) => n === 0) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const order = new KeyOrder();
      const model = new Set<string>();
      for (const { key, read } of steps) {
        if (model.delete(key)) order.remove(key);
        else {
          model.add(key);
          order.add(key);
        }
        if (read) expect(order.sorted()).toEqual([...model].sort());
      }
      expect(order.sorted("a/")).toEqual([...model].filter((k) => k.startsWith("a/")).sort());
      expect(order.sorted()).toEqual([...model].sort());
    }),
  );
});
