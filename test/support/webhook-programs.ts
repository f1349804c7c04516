/** The programs of webhooks for nodes under test; all others of Capstan's image only seem to run. */
import type { RunProgram } from "#app";
import { runProgram } from "../../src/cli/programs.ts";

/** What they and nobody else write is heard. */
export function runningWebhooks(hear: (line: string) => void = () => {}): RunProgram {
  return (context) => {
    if (context.args[0] !== "webhook") return seeming(context);
    return runProgram({
      ...context,
      write: (line) => {
        context.write(line);
        hear(line);
      },
    });
  };
}

const seeming: RunProgram = async ({ ready, signal }) => {
  ready();
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  return 0;
};
