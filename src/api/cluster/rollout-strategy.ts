/** How something is rolled out over the clusters that a Placement chose; add-ons and sets of works have one. */
import { type Infer, int32, intOrString, list, object, oneOf, optional, string } from "#api/schema";

const AMOUNT = "^((100|[0-9]{1,2})%|[0-9]+)$";

const pace = {
  minSuccessTime: optional(
    string({
      default: "0",
      description: "How long it waits after a success before it goes on, such as 2h, 90m or 360s.",
    }),
  ),
  progressDeadline: optional(
    string({
      default: "None",
      pattern: "^(([0-9])+[h|m|s])|None$",
      description: "How long it waits for a success before it counts a failure.",
    }),
  ),
  maxFailures: optional(intOrString({ default: 0, pattern: AMOUNT, description: "After more than these it stops." })),
};

const mandatoryDecisionGroups = optional(
  list(object({ groupName: optional(string()), groupIndex: optional(int32()) }), {
    description: "They come first, and have to succeed.",
  }),
);

/** What the server fills in depends on whose strategy it is. */
export function rolloutStrategy(byDefault: Readonly<Record<string, unknown>>) {
  return object(
    {
      type: optional(oneOf(["All", "Progressive", "ProgressivePerGroup"], { default: "All" })),
      all: optional(object(pace)),
      progressive: optional(
        object({
          ...pace,
          mandatoryDecisionGroups,
          maxConcurrency: optional(intOrString({ pattern: AMOUNT, description: "So many clusters at once." })),
        }),
      ),
      progressivePerGroup: optional(object({ ...pace, mandatoryDecisionGroups })),
    },
    { default: byDefault },
  );
}

export type RolloutStrategy = Infer<ReturnType<typeof rolloutStrategy>>;
