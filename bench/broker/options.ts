// Options of the broker benchmark: what to run, how much of it, and where.

import { tmpdir } from "node:os";
import { parseArgs } from "node:util";

export const PARTS = ["throughput", "million", "dedup", "objects", "startup"] as const;
export type Part = (typeof PARTS)[number];

/** The servers, by the names that tables show. */
export const SERVERS = ["floor", "ours", "ours-memory", "fauxqs", "fauxqs-disk"] as const;
/** `earlier` is the server of another checkout, if one is given. */
export type ServerName = (typeof SERVERS)[number] | "earlier";

export interface BenchOptions {
  readonly parts: readonly Part[];
  readonly servers: readonly ServerName[];
  readonly rounds: number;
  readonly connections: number;
  readonly json: boolean;
  readonly strict: boolean;
  readonly quick: boolean;
  readonly dir: string;
  /** A checkout whose server is measured in turns with ours. */
  readonly against?: string;
  /** How long one measured send lasts, per server and round. */
  readonly windowMs: number;
  readonly bodyBytes: number;
  /** Messages per drain of the receive+delete cycle. */
  readonly cycleMessages: number;
  /** The big and the small backlog of the latency part. */
  readonly backlog: number;
  readonly smallBacklog: number;
  readonly latencySamples: number;
  readonly starts: number;
  /** Size of the big object of the objects part. */
  readonly bigBytes: number;
}

const FULL = {
  windowMs: 1_500,
  cycleMessages: 10_000,
  backlog: 1_000_000,
  samples: 2_000,
  bigMib: 1_024,
};
const QUICK = { windowMs: 150, cycleMessages: 500, backlog: 5_000, samples: 100, bigMib: 16 };

export const USAGE = `npm run bench:broker -- [flags]
  --quick            small counts, to check that everything runs; the figures mean nothing
  --only NAME        a part (${PARTS.join(", ")}) or a server (${SERVERS.join(", ")});
                     may be given several times
  --rounds N         measured rounds of the throughput part (default 5)
  --connections N    keep-alive connections of the load generator (default 48)
  --body-bytes N     size of a message body (default 256)
  --backlog N        messages of the big backlog (default 1000000)
  --dir PATH         where data folders are created (default: the system's temporary folder)
  --against PATH     measures the server of this checkout as "earlier", in turns with ours
  --json             print one JSON document instead of tables
  --strict           exit with 1 if a target is missed`;

function whole(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new Error(`--${name} is "${text}"; expected a whole number from ${min} to ${max}`);
}

/** The requested ones of `names`, or all if none was requested. */
function chosen<T extends string>(names: readonly T[], only: readonly string[]): readonly T[] {
  const requested = names.filter((name) => only.includes(name));
  return requested.length === 0 ? names : requested;
}

/** Parses the command line; "help" if the usage was requested. */
export function readOptions(args: readonly string[]): BenchOptions | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      connections: { type: "string", default: "48" },
      "body-bytes": { type: "string", default: "256" },
      backlog: { type: "string" },
      dir: { type: "string", default: tmpdir() },
      against: { type: "string" },
      json: { type: "boolean", default: false },
      strict: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  const choices: readonly string[] = [...PARTS, ...SERVERS];
  const unknown = values.only.find((name) => !choices.includes(name));
  if (unknown !== undefined)
    throw new Error(`unknown --only "${unknown}"; expected ${choices.join(", ")}`);
  const size = values.quick ? QUICK : FULL;
  const backlog = whole("backlog", values.backlog ?? String(size.backlog), 1_000, 20_000_000);
  return {
    parts: chosen(PARTS, values.only),
    servers: [
      ...chosen(SERVERS, values.only),
      ...(values.against === undefined ? [] : (["earlier"] as const)),
    ],
    ...(values.against !== undefined && { against: values.against }),
    rounds: whole("rounds", values.rounds ?? (values.quick ? "1" : "5"), 1, 100),
    connections: whole("connections", values.connections, 1, 512),
    bodyBytes: whole("body-bytes", values["body-bytes"], 16, 200_000),
    json: values.json,
    strict: values.strict,
    quick: values.quick,
    dir: values.dir,
    windowMs: size.windowMs,
    cycleMessages: size.cycleMessages,
    backlog,
    smallBacklog: 1_000,
    latencySamples: size.samples,
    starts: values.quick ? 1 : 5,
    bigBytes: size.bigMib * 1_024 ** 2,
  };
}
