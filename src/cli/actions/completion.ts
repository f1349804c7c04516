/** Scripts by which shells complete `capstan`, made from the commands that there are. */
import type { Command, Option } from "commander";
import type { Shell } from "../commands/completion.ts";
import { print } from "../terminal.ts";

/** One command and what may follow it. */
interface Entry {
  /** The words that lead to it, without `capstan`. */
  readonly path: readonly string[];
  readonly commands: readonly Word[];
  readonly flags: readonly Flag[];
  /** What its first argument may be, where there is a choice. */
  readonly choices: readonly string[];
}

interface Word {
  readonly name: string;
  readonly description: string;
}

interface Flag {
  /** `-o`, `--output`. */
  readonly names: readonly string[];
  readonly description: string;
  /** `file` and `dir` complete as paths; `none` takes no value. */
  readonly value: "none" | "any" | "file" | "dir" | readonly string[];
}

export function showCompletion(shell: Shell, root: Command): void {
  print(completionScript(shell, root));
}

export function completionScript(shell: Shell, root: Command): string {
  const entries = entriesOf(root, []);
  return { bash, zsh, fish }[shell](entries);
}

function entriesOf(command: Command, path: readonly string[]): Entry[] {
  const inner = command.commands;
  const own: Entry = {
    path,
    commands: inner.map((each) => ({ name: each.name(), description: each.description() })),
    flags: [...command.options.filter(({ hidden }) => !hidden).map(flagOf), HELP],
    choices: [...(command.registeredArguments[0]?.argChoices ?? [])],
  };
  return [
    own,
    ...inner.flatMap((each) => [each.name(), ...each.aliases()].flatMap((name) => entriesOf(each, [...path, name]))),
  ];
}

const HELP: Flag = { names: ["-h", "--help"], description: "display help for command", value: "none" };

function flagOf(option: Option): Flag {
  const names = [option.short, option.long].filter((name) => name !== undefined);
  const [, word = ""] = /[<[]([^>\]]*)[>\]]/.exec(option.flags) ?? [];
  const value = option.argChoices ?? (word === "" ? "none" : word === "file" || word === "dir" ? word : "any");
  return { names, description: option.description, value };
}

/** The command that has been typed so far is found by its words; flags and their values are passed over. */
function bash(entries: readonly Entry[]): string {
  const withValue = [
    ...new Set(entries.flatMap(({ flags }) => flags.filter(takesValue).flatMap(({ names }) => names))),
  ];
  const cases = entries.map(({ path, commands, flags, choices }) => {
    const words = [...commands.map(({ name }) => name), ...choices];
    const names = flags.flatMap((flag) => flag.names.filter((name) => name.startsWith("--")));
    return `    ${quoted(path.join(" "))}) words=${quoted(words.join(" "))}; flags=${quoted(names.join(" "))} ;;`;
  });
  const values = entries.flatMap(({ path, flags }) =>
    flags.flatMap(({ names, value }) =>
      Array.isArray(value)
        ? names.map((name) => `    ${quoted(`${path.join(" ")}|${name}`)}) words=${quoted(value.join(" "))} ;;`)
        : [],
    ),
  );
  const files = [
    ...new Set(
      entries.flatMap(({ flags }) =>
        flags.filter(({ value }) => value === "file" || value === "dir").flatMap(({ names }) => names),
      ),
    ),
  ];
  return `# bash completion of capstan; load it with: source <(capstan completion bash)
_capstan() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="" path="" words="" flags="" at word known
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    word="\${COMP_WORDS[at]}"
    previous="$word"
    case "$word" in
      ${withValue.join("|")}) if ((at + 1 < COMP_CWORD)); then previous=""; fi; ((at++)); continue ;;
      -*) continue ;;
    esac
    known="\${path:+$path }$word"
    case "$known" in
      ${entries
        .filter(({ path }) => path.length > 0)
        .map(({ path }) => quoted(path.join(" ")))
        .join("|")}) path="$known" ;;
    esac
  done
  case "$previous" in
    ${files.join("|")}) compopt -o default 2>/dev/null; return ;;
  esac
  case "$path|$previous" in
${values.join("\n")}
  esac
  if [[ -z "$words" ]]; then
    case "$previous" in
      ${withValue.join("|")}) return ;;
    esac
    case "$path" in
${cases.join("\n")}
    esac
    if [[ "$current" == -* ]]; then words="$flags"; fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _capstan capstan
`;
}

function zsh(entries: readonly Entry[]): string {
  const functions = entries.map(({ path, commands, flags, choices }) => {
    const specs = flags.map(zshFlag);
    const rest =
      commands.length > 0
        ? [
            `'1:command:((${commands.map(({ name, description }) => `${name}\\:${zshText(description)}`).join(" ")}))'`,
            "'*::argument:->argument'",
          ]
        : [choices.length > 0 ? `'1:argument:(${choices.join(" ")})'` : "'*: :'"];
    const next = commands.map(({ name }) => `      ${name}) ${zshName([...path, name])} ;;`);
    return `${zshName(path)}() {
  local line state
  _arguments -C ${[...specs, ...rest].map((spec) => `\\\n    ${spec}`).join(" ")}
${next.length > 0 ? `  case "$state" in argument)\n    case "$line[1]" in\n${next.join("\n")}\n    esac ;;\n  esac\n` : ""}}`;
  });
  return `#compdef capstan
# zsh completion of capstan; load it with: source <(capstan completion zsh)
${functions.join("\n")}
compdef _capstan capstan
`;
}

function zshName(path: readonly string[]): string {
  return ["_capstan", ...path].join("_").replaceAll("-", "_");
}

function zshFlag({ names, description, value }: Flag): string {
  const text = zshText(description);
  const action = Array.isArray(value) ? `:value:(${value.join(" ")})` : VALUES[value as keyof typeof VALUES];
  const [first = "", second] = names;
  if (second === undefined) return `'${first}[${text}]${action}'`;
  return `'(${first} ${second})'{${first},${second}}'[${text}]${action}'`;
}

const VALUES = { none: "", any: ":value: ", file: ":file:_files", dir: ":directory:_files -/" } as const;

/** What would end a quotation or a description. */
function zshText(text: string): string {
  return text.replaceAll("'", "’").replace(/[[\]:()\\]/g, "\\$&");
}

function fish(entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ path, commands, flags, choices }) => {
    const condition = `-n ${quoted(`__capstan_at ${path.join(" ")}`.trim())}`;
    return [
      ...commands.map(
        ({ name, description }) => `complete -c capstan -f ${condition} -a ${name} -d ${fishText(description)}`,
      ),
      ...(choices.length > 0 ? [`complete -c capstan -f ${condition} -a ${quoted(choices.join(" "))}`] : []),
      ...flags.map((flag) => `complete -c capstan ${condition} ${fishFlag(flag)} -d ${fishText(flag.description)}`),
    ];
  });
  const withValue = [
    ...new Set(entries.flatMap(({ flags }) => flags.filter(takesValue).flatMap(({ names }) => names))),
  ];
  const paths = entries.filter(({ path }) => path.length > 0).map(({ path }) => quoted(path.join(" ")));
  return `# fish completion of capstan; load it with: capstan completion fish | source
function __capstan_at
    set -l found
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip -eq 1
            set skip 0
            continue
        end
        switch $word
            case ${withValue.map(quoted).join(" ")}
                set skip 1
            case '-*'
            case '*'
                set -l known (string join ' ' $found $word)
                if contains -- $known ${paths.join(" ")}
                    set found $found $word
                end
        end
    end
    test "$found" = "$argv"
end
complete -c capstan -f
${lines.join("\n")}
`;
}

function fishFlag({ names, value }: Flag): string {
  const parts = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const takes = Array.isArray(value)
    ? ["-x", "-a", quoted(value.join(" "))]
    : { none: ["-f"], any: ["-x"], file: ["-r", "-F"], dir: ["-x", "-a", "'(__fish_complete_directories)'"] }[
        value as "none" | "any" | "file" | "dir"
      ];
  return [...parts, ...takes].join(" ");
}

function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function takesValue({ value }: Flag): boolean {
  return value !== "none";
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}
