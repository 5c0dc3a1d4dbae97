// Help: the command table as text, for a terminal.

import type { Command } from "../command.ts";

const GAP = "  ";

export function helpOfAll(commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary]);
  return [
    "Usage: tidegate COMMAND [flags]",
    "",
    "Commands:",
    ...columns(rows),
    "",
    "Flags:",
    ...columns([
      ["--help", "Show this help, or the flags of a command."],
      ["--version", "Show the version."],
    ]),
  ].join("\n");
}

/** The subcommands of a group such as "dlq". */
export function helpOfGroup(group: string, commands: readonly Command[]): string {
  const rows = commands.map(({ name, summary }): [string, string] => [name, summary]);
  return [
    `Usage: tidegate ${group} SUBCOMMAND [flags]`,
    "",
    "Subcommands:",
    ...columns(rows),
    "",
    `Run tidegate ${rows[0]?.[0] ?? group} --help to see the flags of a subcommand.`,
  ].join("\n");
}

export function helpOf(command: Command): string {
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

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${GAP}${left.padEnd(width)}${GAP}${right}`);
}
