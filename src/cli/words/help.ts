// Help: the command table as text, for a terminal.

import type { Command } from "../command.ts";

const GAP = "  ";

interface Section {
  readonly title: string;
  /** First words of the commands in it. */
  readonly words: readonly string[];
}

/** What a reader wants to do, in the order in which they meet it. */
const SECTIONS: readonly Section[] = [
  { title: "Start", words: ["init", "dev", "up", "run", "task", "dispatch", "console"] },
  { title: "Look", words: ["why", "records", "top", "pipeline", "watermark"] },
  { title: "Fix", words: ["dlq", "quarantine", "late", "retry"] },
  { title: "The past", words: ["backfill", "replay", "audit", "runs", "lineage", "reproduce"] },
  { title: "Produce", words: ["jobs", "relay", "sweep", "outbox"] },
  { title: "Check", words: ["doctor", "prove", "comply", "contract", "sim"] },
  { title: "Operate", words: ["ledger", "compact", "backup", "restore", "infra"] },
];

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
      ["--help", "Show this help, or the flags of a command."],
      ["--version", "Show the version."],
    ]),
  ].join("\n");
}

/** All commands by section; one without a section is shown at the end. */
export function sectionsOf(commands: readonly Command[]): [string, readonly Command[]][] {
  const titleOf = ({ name }: Command) => {
    const [first = ""] = name.split(" ");
    return SECTIONS.find(({ words }) => words.includes(first))?.title ?? OTHER;
  };
  const titles = [...SECTIONS.map(({ title }) => title), OTHER];
  return titles
    .map((title): [string, readonly Command[]] => [
      title,
      commands.filter((command) => titleOf(command) === title),
    ])
    .filter(([, members]) => members.length > 0);
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
  ].join("\n");
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
