// Help: the command table as text, for a terminal.

import type { Command } from "../command.ts";
import { EXAMPLES } from "./examples.ts";

const GAP = "  ";

/** What a reader wants to do, in the order in which they meet it; first words, or whole names. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  Start: ["init", "dev", "up", "run", "task", "dispatch", "console"],
  Look: ["why", "records", "top", "pipeline status", "watermark"],
  Fix: ["dlq", "quarantine", "late", "retry"],
  "Reprocess and verify": ["backfill", "replay", "reproduce", "audit", "runs", "lineage"],
  Produce: ["jobs", "relay", "sweep", "outbox"],
  Check: ["doctor", "policy", "prove", "comply", "contract", "sim"],
  Operate: ["pipeline", "ledger", "backup", "restore", "compact", "infra"],
};

export function helpOfAll(commands: readonly Command[]): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  return [
    "Usage: tidegate COMMAND [flags]",
    ...sectionsOf(commands).flatMap(([title, members]) => [
      "",
      `${title}:`,
      ...columns(summaries(members), width),
    ]),
    "",
    "Flags:",
    ...columns([
      ["--help", "Show this help, or the flags and examples of a command."],
      ["--version", "Show the version."],
    ]),
    ...examplesOf(["init", "dev", "why", "dlq redrive"]),
  ].join("\n");
}

/** All commands by section; one without a section is shown at the end. */
export function sectionsOf(commands: readonly Command[]): [string, readonly Command[]][] {
  const titles = Object.entries(SECTIONS);
  const entryOf = ({ name }: Command): string => {
    const entries = titles.flatMap(([, entries]) => entries);
    return entries.includes(name) ? name : (name.split(" ")[0] ?? "");
  };
  const sections = titles.map(([title, entries]): [string, readonly Command[]] => [
    title,
    entries.flatMap((entry) => commands.filter((command) => entryOf(command) === entry)),
  ]);
  const shown = new Set(sections.flatMap(([, members]) => members));
  const others = commands.filter((command) => !shown.has(command));
  return [...sections, [OTHER, others] as [string, readonly Command[]]].filter(
    ([, members]) => members.length > 0,
  );
}

export const OTHER = "Other";

function summaries(commands: readonly Command[]): [string, string][] {
  return commands.map(({ name, summary }) => [name, summary]);
}

/** The subcommands of a group such as "dlq". */
export function helpOfGroup(group: string, commands: readonly Command[]): string {
  const rows = summaries(commands);
  return [
    `Usage: tidegate ${group} SUBCOMMAND [flags]`,
    "",
    "Subcommands:",
    ...columns(rows),
    "",
    `Run tidegate ${rows[0]?.[0] ?? group} --help to see the flags of a subcommand.`,
  ].join("\n");
}

/** `subcommands` are those of a command that also runs without one, such as "replay". */
export function helpOf(command: Command, subcommands: readonly Command[] = []): string {
  const rows = Object.entries(command.flags).map(([name, flag]): [string, string] => {
    return [
      flag.value === null ? `--${name}` : `--${name} ${flag.value}`,
      flag.doc + defaultOf(flag),
    ];
  });
  rows.push(["--help", "Show this help."]);
  const { name, summary, argument, rest } = command;
  const after = rest?.optional ? ` [-- ${rest.name}]` : ` -- ${rest?.name}`;
  const words = rest === undefined ? "" : after;
  return [
    `Usage: tidegate ${name} ${argumentOf(command)}[flags]${words}`,
    "",
    summary,
    ...(argument === undefined ? [] : ["", ...columns([[argument.name, argument.doc]])]),
    ...(rest === undefined ? [] : columns([[rest.name, rest.doc]])),
    "",
    "Flags:",
    ...columns(rows),
    ...(subcommands.length === 0 ? [] : ["", "Subcommands:", ...columns(summaries(subcommands))]),
    ...examplesOf([name]),
  ].join("\n");
}

function examplesOf(names: readonly string[]): string[] {
  const lines = names.flatMap((name) => (EXAMPLES[name] ?? []).map((line) => `tidegate ${line}`));
  return lines.length === 0 ? [] : ["", "Examples:", ...lines.map((line) => GAP + line)];
}

function argumentOf({ argument }: Command): string {
  if (argument === undefined) return "";
  return argument.optional ? `[${argument.name}] ` : `${argument.name} `;
}

/** Default and environment variable of a flag. */
function defaultOf({ fallback, env }: Command["flags"][string]): string {
  const parts = [
    ...(fallback === null ? [] : [`default: ${fallback}`]),
    ...(env === undefined ? [] : [`env: ${env}`]),
  ];
  return parts.length === 0 ? "" : ` (${parts.join("; ")})`;
}

function columns(rows: readonly (readonly [string, string])[], widthMin = 0): string[] {
  const width = Math.max(widthMin, ...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${GAP}${left.padEnd(width)}${GAP}${right}`);
}
