// Run CLI: from the words of a command line to an exit code.
//   X1. A usage error is one line and exit code 2; a failure is a message with a hint and exit code
//       1. Only a bug shows a stack trace.

import { TidegateError } from "../core/errors.ts";
import {
  type Command,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type ExitCode,
  UsageError,
} from "./command.ts";
import { comply } from "./commands/comply.ts";
import { dev } from "./commands/dev.ts";
import { dlqDrop, dlqList, dlqRedrive, dlqShow } from "./commands/dlq.ts";
import { init } from "./commands/init.ts";
import { ledgerCheck, ledgerInit, ledgerShow, ledgerStatsCommand } from "./commands/ledger.ts";
import { prove } from "./commands/prove.ts";
import { ledgerPurge, outboxPurge } from "./commands/purge.ts";
import { run } from "./commands/run.ts";
import { sim } from "./commands/sim.ts";
import { up } from "./commands/up.ts";
import { why } from "./commands/why.ts";
import { describeFailure, type Output, standardOutput } from "./screen/output.ts";
import { version } from "./version.ts";
import { helpOf, helpOfAll } from "./words/help.ts";
import { parseFlags } from "./words/parse-flags.ts";
import { didYouMean } from "./words/suggest.ts";

/** All commands; docs/reference/cli.md is compared with this table. */
export const COMMANDS: readonly Command[] = [
  up,
  init,
  dev,
  run,
  why,
  dlqList,
  dlqShow,
  dlqRedrive,
  dlqDrop,
  comply,
  prove,
  ledgerInit,
  ledgerCheck,
  ledgerShow,
  ledgerStatsCommand,
  ledgerPurge,
  outboxPurge,
  sim,
].map((each) => each as Command);

export async function runCli(
  words: readonly string[],
  out: Output = standardOutput,
): Promise<ExitCode> {
  try {
    return await dispatch(words, out);
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

async function dispatch(words: readonly string[], out: Output): Promise<ExitCode> {
  const [name] = words;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    printLines(out, helpOfAll(COMMANDS));
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (name === "--version" || name === "-v") {
    out.line(version());
    return EXIT_OK;
  }
  const command = COMMANDS.find((each) => startsWith(words, each.name));
  if (command === undefined) throw new UsageError(unknownWord(words));
  const rest = words.slice(command.name.split(" ").length);
  const { help, argument, flags } = parseFlags(command, rest);
  if (help) {
    printLines(out, helpOf(command));
    return EXIT_OK;
  }
  return command.run({ argument, flags, out });
}

function printLines(out: Output, text: string): void {
  for (const line of text.split("\n")) out.line(line);
}

function startsWith(words: readonly string[], name: string): boolean {
  return name.split(" ").every((part, at) => words[at] === part);
}

/** The error for an unknown command or flag. */
function unknownWord([first = "", second = ""]: readonly string[]): string {
  const names = COMMANDS.map(({ name }) => name);
  const family = names.filter((name) => name.startsWith(`${first} `));
  if (family.length > 0) {
    const subcommands = family.map((name) => name.slice(first.length + 1));
    const choices = listed(subcommands);
    if (second === "") return `"${first}" needs a subcommand: ${choices}`;
    return `"${first}" has no subcommand "${second}"; use ${choices}`;
  }
  const flag = first.startsWith("-");
  const choices = flag ? ["--help", "--version"] : names.map((name) => name.split(" ")[0] ?? name);
  const hint = didYouMean(first, choices) || "run tidegate --help to see all commands";
  return `unknown ${flag ? "flag" : "command"} "${first}"; ${hint}`;
}

/** "a", "a or b", "a, b or c". */
function listed(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  return names.length < 2 ? last : `${names.slice(0, -1).join(", ")} or ${last}`;
}
