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
import { auditCommand, auditVerify } from "./commands/audit.ts";
import { backfillCommand } from "./commands/backfill.ts";
import { backup, restore } from "./commands/backup.ts";
import { compact } from "./commands/compact.ts";
import { comply } from "./commands/comply.ts";
import { consoleCommand } from "./commands/console.ts";
import { contractDiff, contractShow } from "./commands/contract.ts";
import { dev } from "./commands/dev.ts";
import { dispatch } from "./commands/dispatch.ts";
import { dlqDrop, dlqList, dlqRedrive, dlqShow } from "./commands/dlq.ts";
import { doctor } from "./commands/doctor.ts";
import { doctorExplain } from "./commands/doctor-explain.ts";
import { infra } from "./commands/infra.ts";
import { infraDiff } from "./commands/infra-diff.ts";
import { init } from "./commands/init.ts";
import { jobsList, jobsRegister, jobsRetry, jobsShow } from "./commands/jobs.ts";
import { lateList, lateRelease } from "./commands/late.ts";
import { ledgerCheck, ledgerInit, ledgerShow, ledgerStatsCommand } from "./commands/ledger.ts";
import { lineage, runsList, runsManifest } from "./commands/lineage.ts";
import { pipelinePause, pipelineResume, pipelineStatus } from "./commands/pipeline.ts";
import { prove } from "./commands/prove.ts";
import { ledgerPurge, outboxPurge } from "./commands/purge.ts";
import { quarantineDrop, quarantineList, quarantineRedrive } from "./commands/quarantine.ts";
import { recordsDuplicates, recordsList } from "./commands/records.ts";
import { outboxStats, relay, sweep } from "./commands/relay.ts";
import {
  replay,
  replayCancel,
  replayDiff,
  replayDrop,
  replayList,
  replayPromote,
  replayShow,
} from "./commands/replay.ts";
import { reproduce } from "./commands/reproduce.ts";
import { retry } from "./commands/retry.ts";
import { run } from "./commands/run.ts";
import { sim } from "./commands/sim.ts";
import { task } from "./commands/task.ts";
import { top } from "./commands/top.ts";
import { up } from "./commands/up.ts";
import { watermark } from "./commands/watermark.ts";
import { why } from "./commands/why.ts";
import { describeFailure, type Output, standardOutput } from "./screen/output.ts";
import { helpOf, helpOfAll, helpOfGroup } from "./words/help.ts";
import { parseFlags } from "./words/parse-flags.ts";
import { didYouMean } from "./words/suggest.ts";

/** All commands; docs/reference/cli.md is compared with this table. */
export const COMMANDS: readonly Command[] = [
  up,
  init,
  dev,
  run,
  task,
  dispatch,
  consoleCommand,
  auditVerify, // Before `audit`, whose name it starts with.
  auditCommand,
  backfillCommand,
  why,
  runsList,
  runsManifest,
  lineage,
  recordsList,
  recordsDuplicates,
  dlqList,
  dlqShow,
  dlqRedrive,
  dlqDrop,
  quarantineList,
  quarantineRedrive,
  quarantineDrop,
  lateList,
  lateRelease,
  watermark,
  pipelinePause,
  pipelineResume,
  pipelineStatus,
  retry,
  top,
  replayList, // Before `replay`, whose name it starts with.
  replayShow,
  replayDiff,
  replayPromote,
  replayDrop,
  replayCancel,
  replay,
  reproduce,
  jobsRegister,
  jobsList,
  jobsShow,
  jobsRetry,
  relay,
  sweep,
  comply,
  prove,
  contractShow,
  contractDiff,
  doctorExplain,
  doctor,
  ledgerInit,
  ledgerCheck,
  ledgerShow,
  ledgerStatsCommand,
  ledgerPurge,
  outboxStats,
  outboxPurge,
  compact,
  backup,
  restore,
  infraDiff, // Before `infra`, whose name it starts with.
  infra,
  sim,
].map((each) => each as Command);

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
    printLines(out, helpOfAll(COMMANDS));
    return name === undefined ? EXIT_USAGE : EXIT_OK;
  }
  if (name === "--version" || name === "-v") {
    out.line(packageVersion());
    return EXIT_OK;
  }
  const command = COMMANDS.find((each) => startsWith(words, each.name));
  if (command === undefined) {
    const group = subcommandsOf(name);
    if (group.length === 0 || !HELP.has(words[1] ?? "")) throw new UsageError(unknownWord(words));
    printLines(out, helpOfGroup(name, group));
    return EXIT_OK;
  }
  const given = words.slice(command.name.split(" ").length);
  const { help, argument, arguments: all, flags, rest } = parseFlags(command, given);
  if (help) {
    printLines(out, helpOf(command, subcommandsOf(command.name)));
    return EXIT_OK;
  }
  return command.run({ argument, arguments: all, flags, rest, out });
}

function subcommandsOf(name: string): readonly Command[] {
  return COMMANDS.filter((each) => each.name.startsWith(`${name} `));
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
