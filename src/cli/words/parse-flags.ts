// Parse flags: from the words of a command line to the values of its flags, or to one error line.

import { parseArgs } from "node:util";
import { type Command, type Flags, type FlagValues, UsageError } from "../command.ts";
import { didYouMean } from "./suggest.ts";

export interface ParsedFlags {
  readonly help: boolean;
  readonly argument: string | undefined;
  readonly flags: FlagValues<Flags>;
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

export function parseFlags(
  command: Command,
  words: readonly string[],
  env: EnvironmentVariables = process.env,
): ParsedFlags {
  const options = Object.fromEntries(
    Object.entries({ ...command.flags, help: { value: null } }).map(([name, flag]) => [
      name,
      { type: flag.value === null ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...words],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const given: Record<string, unknown> = {};
  let help = false;
  let argument: string | undefined;
  for (const token of tokens) {
    if (token.kind === "positional") {
      if (command.argument === undefined || argument !== undefined) {
        const takes = command.argument === undefined ? "no argument" : "one argument";
        throw new UsageError(`"${command.name}" takes ${takes}, but got "${token.value}"`);
      }
      argument = token.value;
      continue;
    }
    if (token.kind !== "option") continue;
    if (token.name === "help" || token.rawName === "-h") {
      help = true;
      continue;
    }
    given[token.name] = readFlag(command, token.name, token.rawName, token.value);
  }
  const wanted = command.argument?.optional ? undefined : command.argument;
  if (wanted !== undefined && argument === undefined && !help) {
    throw new UsageError(`"${command.name}" needs ${wanted.name}`);
  }
  if (help) return { help, argument, flags: {} };
  const flags = { ...fallbacksOf(command), ...variablesOf(command, env, given), ...given };
  return { help, argument, flags: flags as FlagValues<Flags> };
}

function readFlag(
  command: Command,
  name: string,
  rawName: string,
  value: string | undefined,
): unknown {
  const flag = Object.hasOwn(command.flags, name) ? command.flags[name] : undefined;
  if (flag === undefined) {
    const near = didYouMean(name, Object.keys(command.flags), "--");
    const hint = near || `run tidegate ${command.name} --help to see its flags`;
    throw new UsageError(`"${command.name}" has no flag ${rawName}; ${hint}`);
  }
  if (flag.value === null && value !== undefined) {
    throw new UsageError(`--${name} takes no value`);
  }
  if (flag.value !== null && (value === undefined || value.startsWith("--"))) {
    throw new UsageError(`--${name} needs a value: ${flag.value}`);
  }
  return flag.parse(value ?? true, name);
}

function fallbacksOf(command: Command): Record<string, unknown> {
  const flags = Object.entries(command.flags).filter(([, flag]) => flag.fallback !== null);
  return Object.fromEntries(
    flags.map(([name, flag]) => [name, flag.parse(flag.fallback ?? "", name)]),
  );
}

/** Flags from environment variables; an empty variable counts as unset. */
function variablesOf(
  command: Command,
  env: EnvironmentVariables,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(command.flags)) {
    const value = flag.env === undefined ? undefined : env[flag.env];
    if (value === undefined || value === "" || Object.hasOwn(given, name)) continue;
    try {
      values[name] = flag.parse(value, name);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      throw new UsageError(error.message.replace(`--${name}`, flag.env ?? name));
    }
  }
  return values;
}
