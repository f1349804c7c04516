/** `capstan version`. */
import { Command } from "commander";
import { version } from "#app";
import { print } from "../terminal.ts";

export function versionCommand(): Command {
  return new Command("version").description("print the version").action(() => print(`capstan ${version()}`));
}
