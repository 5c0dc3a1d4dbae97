// Command: name, summary, flags and implementation of a command. Help, parsing, suggestions and
// docs/reference/cli.md come from this value. A command starts fast because it loads little:
//   L1. The file of a command imports what its name, flags and help need. Its `run` imports the
//       rest with `await import(...)`, after the flags are parsed.
//   L2. The command table (command-table.ts) imports the file of a command in the same way, when
//       the first word of the command line asks for it. Only the help of all commands loads all.

import type { Output } from "./screen/output.ts";

export const EXIT_OK = 0;
/** The command was valid and failed. */
export const EXIT_FAILED = 1;
/** The command line is invalid. */
export const EXIT_USAGE = 2;
/** The command has stopped, and handlers of the user that ignored their signal were abandoned. */
export const EXIT_ABANDONED = 3;
/** Everything is accounted for, and something is not applied. */
export const EXIT_NOT_APPLIED = 4;
/** Nothing was found, but not everything was read, which --strict does not accept. */
export const EXIT_UNREAD = 5;

export type ExitCode =
  | typeof EXIT_OK
  | typeof EXIT_FAILED
  | typeof EXIT_USAGE
  | typeof EXIT_ABANDONED
  | typeof EXIT_NOT_APPLIED
  | typeof EXIT_UNREAD;

export interface Flag<T> {
  /** Placeholder of the value in help texts; null for a flag without a value. */
  readonly value: string | null;
  readonly fallback: string | null;
  /** The environment variable that is read if the flag is absent. */
  readonly env?: string;
  readonly doc: string;
  /** Throws UsageError if `text` is invalid. */
  readonly parse: (text: string | boolean, name: string) => T;
  /** A flag that may be repeated: its values so far and the next one. Else the last one counts. */
  readonly join?: (earlier: T, later: T) => T;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of flags holds flags of any value.
export type Flags = Readonly<Record<string, Flag<any>>>;

export type FlagValues<F extends Flags> = {
  readonly [K in keyof F]: F[K] extends Flag<infer T> ? T | undefined : never;
};

/** The positional argument of a command. */
export interface Argument {
  /** Placeholder in help texts. */
  readonly name: string;
  readonly doc: string;
  readonly optional?: true;
  /** May be given several times. */
  readonly repeats?: true;
}

export interface Command<F extends Flags = Flags> {
  /** One word, or two: "ledger init". */
  readonly name: string;
  readonly summary: string;
  readonly argument?: Argument;
  /** Words after `--`, such as a command to run; at least one unless they are optional. */
  readonly rest?: { readonly name: string; readonly doc: string; readonly optional?: true };
  readonly flags: F;
  run(call: {
    /** Defined if the command has an `argument` that is not optional. */
    readonly argument: string | undefined;
    /** All of them, if the command's argument repeats. */
    readonly arguments: readonly string[];
    readonly flags: FlagValues<F>;
    /** The words after `--`; empty for a command without `rest`. */
    readonly rest: readonly string[];
    readonly out: Output;
  }): Promise<ExitCode>;
}

export function command<F extends Flags>(definition: Command<F>): Command<F> {
  return definition;
}

/** The commands that share a first word; `load` imports them (L2). */
export interface CommandGroup {
  readonly word: string;
  readonly load: () => Promise<readonly Command[]>;
}

// biome-ignore lint/suspicious/noExplicitAny: a table of commands holds commands of any flags.
export function group(word: string, load: () => Promise<readonly Command<any>[]>): CommandGroup {
  return { word, load };
}

/** The command line is invalid; the message is one line for the user. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function toggle(doc: string): Flag<boolean> {
  return { value: null, fallback: null, doc, parse: (text) => text === true };
}

export function text(value: string, fallback: string | null, doc: string): Flag<string> {
  return {
    value,
    fallback,
    doc,
    parse(given, name) {
      if (typeof given === "string" && given !== "") return given;
      throw new UsageError(`--${name} needs a value: ${value}`);
    },
  };
}

/** Texts with commas in between; the flag may be repeated. */
export function textList(value: string, doc: string): Flag<readonly string[]> {
  return {
    value,
    fallback: null,
    doc,
    parse(given, name) {
      const words = String(given)
        .split(",")
        .map((word) => word.trim());
      if (typeof given === "string" && words.every((word) => word !== "")) return words;
      throw new UsageError(`--${name} needs a value: ${value}`);
    },
    join: (earlier, later) => [...earlier, ...later],
  };
}

export function wholeNumber(
  value: string,
  range: { readonly min: number; readonly max: number },
  fallback: string | null,
  doc: string,
): Flag<number> {
  return {
    value,
    fallback,
    doc,
    parse(given, name) {
      const number = /^\d{1,15}$/.test(String(given)) ? Number(given) : Number.NaN;
      if (number >= range.min && number <= range.max) return number;
      const span = `a whole number from ${range.min} to ${range.max}`;
      throw new UsageError(`--${name} must be ${span}, not "${given}"`);
    },
  };
}

export function oneOf<const T extends string>(
  choices: readonly T[],
  fallback: T | null,
  doc: string,
): Flag<T> {
  return {
    value: choices.join("|"),
    fallback,
    doc,
    parse(given, name) {
      const choice = choices.find((each) => each === given);
      if (choice !== undefined) return choice;
      throw new UsageError(`--${name} must be ${choices.join(" or ")}, not "${given}"`);
    },
  };
}
