// Parse flags: from the words of a command line to the values of its flags, or to one error line.

import { parseArgs } from "node:util";
import { type Command, type Flags, type FlagValues, UsageError } from "../command.ts";
import { didYouMean } from "./suggest.ts";

export interface ParsedFlags {
  readonly help: boolean;
  readonly argument: string | undefined;
  readonly arguments: readonly string[];
  readonly flags: FlagValues<Flags>;
  /** The words after `--`. */
  readonly rest: readonly string[];
}

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>;

export function parseFlags(
  command: Command,
  given: readonly string[],
  env: EnvironmentVariables = process.env,
): ParsedFlags {
  const { words, rest } = splitRest(command, given);
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
  const values: Record<string, unknown> = {};
  let help = false;
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") {
      const isFull = positionals.length > 0 && command.argument?.repeats !== true;
      if (command.argument === undefined || isFull) {
        const takes = command.argument === undefined ? "no argument" : "one argument";
        throw new UsageError(`"${command.name}" takes ${takes}, but got "${token.value}"`);
      }
      positionals.push(token.value);
      continue;
    }
    if (token.kind !== "option") continue;
    if (token.name === "help" || token.rawName === "-h") {
      help = true;
      continue;
    }
    const value = readFlag(command, token.name, token.rawName, token.value);
    const join = Object.hasOwn(values, token.name) ? command.flags[token.name]?.join : undefined;
    values[token.name] = join === undefined ? value : join(values[token.name], value);
  }
  const [argument] = positionals;
  const wanted = command.argument?.optional ? undefined : command.argument;
  if (wanted !== undefined && argument === undefined && !help) {
    throw new UsageError(`"${command.name}" needs ${wanted.name}`);
  }
  const common = { help, argument, arguments: positionals, rest };
  if (help) return { ...common, flags: {} };
  if (command.rest !== undefined && !command.rest.optional && rest.length === 0) {
    throw new UsageError(`"${command.name}" needs -- and ${command.rest.name} after its flags`);
  }
  const flags = { ...fallbacksOf(command), ...variablesOf(command, env, values), ...values };
  return { ...common, flags: flags as FlagValues<Flags> };
}

/** The words before and after `--`, for a command that takes both. */
function splitRest({ rest }: Command, given: readonly string[]) {
  const at = rest === undefined ? -1 : given.indexOf("--");
  if (at < 0) return { words: given, rest: [] };
  return { words: given.slice(0, at), rest: given.slice(at + 1) };
}

function readFlag(
  command: Command,
  name: string,
  rawName: string,
  value: string | undefined,
): unknown {
  const flag = Object.hasOwn(command.flags, name) ? command.flags[name] : undefined;
  if (flag === undefined) {
    throw new UsageError(`"${command.name}" has no flag ${rawName}; ${flagHint(command, name)}`);
  }
  if (flag.value === null && value !== undefined) {
    throw new UsageError(`--${name} takes no value`);
  }
  if (flag.value !== null && (value === undefined || value.startsWith("--"))) {
    throw new UsageError(`--${name} needs a value: ${flag.value}`);
  }
  return flag.parse(value ?? true, name);
}

/** Few enough flags to name them all in an error. */
const NAMED_FLAGS_MAX = 4;

function flagHint(command: Command, name: string): string {
  const names = Object.keys(command.flags);
  const near = didYouMean(name, names, "--");
  if (near !== "") return near;
  if (names.length === 0 || names.length > NAMED_FLAGS_MAX) {
    return `run tidegate ${command.name} --help to see its flags`;
  }
  return `it has ${names.map((each) => `--${each}`).join(", ")}`;
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
