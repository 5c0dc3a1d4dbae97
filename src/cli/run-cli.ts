// Run CLI: from the words of a command line to an exit code.
//   X1. A usage error is one line and exit code 2; a failure is a message with a hint and exit code
//       1. Only a bug shows a stack trace.

import { TidegateError } from "../core/errors.ts";
import { packageVersion } from "../platform/package-version.ts";
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type ExitCode,
  UsageError,
} from "./command.ts";
import { allCommands, COMMAND_GROUPS, commandsOf } from "./command-table.ts";
import { helpOf, helpOfAll, helpOfGroup } from "./flags/help.ts";
import { parseFlags } from "./flags/parse-flags.ts";
import { didYouMean } from "./flags/suggest.ts";
import { describeFailure, type Output, standardOutput } from "./screen/output.ts";

export async function runCli(
  words: readonly string[],
  out: Output = standardOutput,
): Promise<ExitCode> {
  try {
    return await runWords(words, out);
  } catch (error) {
    if (error instanceof UsageError) {
      out.note(error.message);
      return EXIT_USAGE; // X1
    }
    out.note(describeFailure(error));
    return isUsersFault(error) ? EXIT_USAGE : EXIT_FAILED;
  }
}

function isUsersFault(error: unknown): boolean {
  if (!(error instanceof TidegateError)) return false;
  return error.code === "TG_CONFIG_INVALID" || error.code === "TG_PIPELINE_INVALID";
}

const HELP: ReadonlySet<string> = new Set(["--help", "-h", "help"]);

async function runWords(words: readonly string[], out: Output): Promise<ExitCode> {
  const [name] = words;
  if (name === "help" && words.length > 1) return runWords([...words.slice(1), "--help"], out);
  if (name === undefined || HELP.has(name)) {
    printLines(out, helpOfAll(await allCommands()));
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (name === "--version" || name === "-v") {
    out.line(packageVersion());
    return EXIT_OK;
  }
  const group = await commandsOf(name);
  const command = group
    .filter((each) => startsWith(words, each.name))
    .toSorted((a, b) => b.name.length - a.name.length)[0]; // T2 of command-table.ts
  if (command === undefined) {
    if (group.length === 0 || !HELP.has(words[1] ?? "")) throw unknownWord(words, group);
    printLines(out, helpOfGroup(name, group));
    return EXIT_OK;
  }
  const given = words.slice(command.name.split(" ").length);
  const { help, argument, arguments: all, flags, rest } = parseFlags(command, given);
  if (help) {
    const subcommands = group.filter((each) => each.name.startsWith(`${command.name} `));
    printLines(out, helpOf(command, subcommands));
    return EXIT_OK;
  }
  return command.run({ argument, arguments: all, flags, rest, out });
}

function printLines(out: Output, text: string): void {
  for (const line of text.split("\n")) out.line(line);
}

function startsWith(words: readonly string[], name: string): boolean {
  return name.split(" ").every((part, at) => words[at] === part);
}

/** The error for an unknown command or flag; `group` has the commands of the first word. */
function unknownWord([first = "", second = ""]: readonly string[], group: readonly Command[]) {
  if (group.length > 0) {
    const choices = listed(group.map(({ name }) => name.slice(first.length + 1)));
    if (second === "") return new UsageError(`"${first}" needs a subcommand: ${choices}`);
    return new UsageError(`"${first}" has no subcommand "${second}"; use ${choices}`);
  }
  const flag = first.startsWith("-");
  const choices = flag ? ["--help", "--version"] : COMMAND_GROUPS.map(({ word }) => word);
  const hint = didYouMean(first, choices) || "run tidegate --help to see all commands";
  return new UsageError(`unknown ${flag ? "flag" : "command"} "${first}"; ${hint}`);
}

/** "a", "a or b", "a, b or c". */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}
