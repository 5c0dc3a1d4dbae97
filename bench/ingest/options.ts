// Options of the ingest benchmark: what to run, how much of it, and where.

import { tmpdir } from "node:os";
import { parseArgs } from "node:util";

export const PARTS = ["http", "in-process", "dynamodb", "million"] as const;
export type Part = (typeof PARTS)[number];

export interface IngestOptions {
  readonly parts: readonly Part[];
  readonly rounds: number;
  /** Messages per contestant and round, over HTTP and in process. */
  readonly messages: number;
  /** Records in progress at once in Tidegate's consumer. */
  readonly concurrency: number;
  readonly dynamoMessages: number;
  readonly millionMessages: number;
  readonly dir: string;
  readonly json: boolean;
  readonly strict: boolean;
  readonly quick: boolean;
}

const FULL = { rounds: 5, messages: 20_000, dynamoMessages: 2_000, millionMessages: 1_000_000 };
const QUICK = { rounds: 1, messages: 300, dynamoMessages: 100, millionMessages: 2_000 };

export const USAGE = `npm run bench:ingest -- [flags]
  --quick          small counts, to check that everything runs; the figures mean nothing
  --only NAME      a part (${PARTS.join(", ")}); may be given several times
  --million        also run the part over a million events (default: skipped)
  --rounds N       measured rounds (default ${FULL.rounds})
  --messages N     messages per contestant and round (default ${FULL.messages})
  --concurrency N  records in progress at once in our consumer (default 100)
  --dir PATH       where data folders are created (default: the system's temporary folder)
  --json           print one JSON document instead of tables
  --strict         exit with 1 if a target is missed or not measured`;

function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`--${name} is "${text}"; expected a whole number from ${min} to ${max}`);
}

function partsOf(only: readonly string[], million: boolean): readonly Part[] {
  const unknown = only.find((name) => !(PARTS as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw new Error(`unknown --only "${unknown}"; expected ${PARTS.join(", ")}`);
  const requested = (part: Part) => only.includes(part) || (part === "million" && million);
  if (only.length > 0) return PARTS.filter(requested);
  return PARTS.filter((part) => part !== "million" || million);
}

/** Parses the command line; "help" if the usage was requested. */
export function readOptions(args: readonly string[]): IngestOptions | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      million: { type: "boolean", default: false },
      rounds: { type: "string" },
      messages: { type: "string" },
      concurrency: { type: "string", default: "100" },
      dir: { type: "string", default: tmpdir() },
      json: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const size = values.quick ? QUICK : FULL;
  return {
    parts: partsOf(values.only, values.million),
    rounds: whole("rounds", values.rounds ?? `${size.rounds}`, 1, 100),
    messages: whole("messages", values.messages ?? `${size.messages}`, 10, 1_000_000),
    concurrency: whole("concurrency", values.concurrency, 1, 10_000),
    dynamoMessages: size.dynamoMessages,
    millionMessages: size.millionMessages,
    dir: values.dir,
    json: values.json,
    strict: values.strict,
    quick: values.quick,
  };
}
