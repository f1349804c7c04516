/** `capstan completion`: lets a shell complete commands and flags. */
import { Argument, Command } from "commander";

export type Shell = "bash" | "zsh" | "fish";

export function completionCommand(): Command {
  return new Command("completion")
    .description("print a script by which a shell completes commands and flags")
    .addArgument(new Argument("<shell>", "whose").choices(["bash", "zsh", "fish"]))
    .addHelpText(
      "after",
      "\nbash: source <(capstan completion bash)\nzsh:  source <(capstan completion zsh)\nfish: capstan completion fish | source",
    )
    .action(async (shell: Shell, _: unknown, self: Command) => {
      const { showCompletion } = await import("../actions/completion.ts");
      showCompletion(shell, self.parent ?? self);
    });
}
