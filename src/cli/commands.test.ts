import { describe, expect, it } from "vitest";
import { COMMANDS } from "./commands.ts";

describe("the list of commands", () => {
  it.each(COMMANDS.map((entry) => [entry.name, entry] as const))(
    "%s leads to the command of that name",
    async (name, entry) => {
      expect((await entry.load()).name()).toBe(name);
      expect(entry.summary.length).toBeLessThanOrEqual(63); // one line each on a narrow terminal
    },
  );
});
