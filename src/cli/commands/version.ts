/** `capstan version`. */
import { Command } from "commander";
import { print } from "../terminal.ts";
import { version } from "../version.ts";

export function versionCommand(): Command {
  return new Command("version").description("print the version").action(() => print(`capstan ${version()}`));
}
