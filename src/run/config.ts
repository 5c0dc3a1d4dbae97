// Config: the one table of what can be set when a pipeline is run; the rest is said by its file.
//   C1. The flags and help of `tidegate run` and `tidegate dev`, the variables TIDEGATE_*, the
//       settings of the library and docs/reference/configuration.md all come from this table.
//   C2. A flag outdoes a variable, a variable outdoes the fallback. Only commands read variables:
//       a library that did would change under its caller.

import type { LogLevel } from "../ports/telemetry.ts";

export type SettingCommand = "run" | "dev";

export interface Setting {
  readonly flag: string;
  readonly env: `TIDEGATE_${string}`;
  readonly takes:
    | { readonly kind: "text"; readonly value: string }
    | {
        readonly kind: "number";
        readonly value: string;
        readonly min: number;
        readonly max: number;
      }
    | { readonly kind: "choice"; readonly choices: readonly string[] };
  /** Null: there is none, or the doc says what happens without it. */
  readonly fallback: string | null;
  /** Where `dev` falls back to something else. */
  readonly devFallback?: string;
  readonly commands: readonly SettingCommand[];
  readonly doc: string;
}

const PORT_MAX = 65_535;
const GENERATION_MAX = 1_000_000;
/** Longer than this, and whoever sent the signal has sent SIGKILL. */
const DRAIN_MS_MAX = 3_600_000;
const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const text = (value: string) => ({ kind: "text", value }) as const;
const number = (value: string, max: number) => ({ kind: "number", value, min: 0, max }) as const;

/** In the order of help and of the page. */
export const SETTINGS = {
  endpoint: {
    flag: "endpoint",
    env: "TIDEGATE_ENDPOINT",
    takes: text("URL"),
    fallback: null,
    commands: ["run"],
    doc: "Where SQS and S3 answer; without it, Amazon's own, or what AWS_ENDPOINT_URL says.",
  },
  region: {
    flag: "region",
    env: "TIDEGATE_REGION",
    takes: text("REGION"),
    fallback: null,
    devFallback: "us-east-1",
    commands: ["run", "dev"],
    doc: "AWS region; `run` finds one as the AWS SDK does if none is given.",
  },
  queue: {
    flag: "queue",
    env: "TIDEGATE_QUEUE",
    takes: text("QUEUE"),
    fallback: null,
    commands: ["run"],
    doc: "Name or URL of the queue to consume; without it, the one that the pipeline file names.",
  },
  deadLetterQueue: {
    flag: "dead-letter-queue",
    env: "TIDEGATE_DEAD_LETTER_QUEUE",
    takes: text("QUEUE"),
    fallback: null,
    commands: ["run"],
    doc: "Name or URL of the queue for dead letters; without it, that of the redrive policy.",
  },
  ledger: {
    flag: "ledger",
    env: "TIDEGATE_LEDGER",
    takes: text("URL"),
    fallback: null,
    commands: ["run"],
    doc: "sqlite:path, postgres://… or dynamodb://table; without it, ledger.db in the data folder.",
  },
  tablesDatabase: {
    flag: "tables-database",
    env: "TIDEGATE_TABLES_DATABASE",
    takes: text("DATABASE"),
    fallback: null,
    commands: ["run"],
    doc: "postgres://… or a SQLite file for tables(); without it, what the file says, or the ledger's.",
  },
  data: {
    flag: "data",
    env: "TIDEGATE_DATA",
    takes: text("FOLDER"),
    fallback: ".tidegate",
    commands: ["run", "dev"],
    doc: "Folder for what must outlive the process.",
  },
  port: {
    flag: "port",
    env: "TIDEGATE_PORT",
    takes: number("PORT", PORT_MAX),
    fallback: "4566",
    commands: ["dev"],
    doc: "Port of the embedded cloud; 0 takes a free one.",
  },
  metricsPort: {
    flag: "metrics-port",
    env: "TIDEGATE_METRICS_PORT",
    takes: number("PORT", PORT_MAX),
    fallback: "9464",
    devFallback: "0",
    commands: ["run", "dev"],
    doc: "Port of /metrics and /health on 127.0.0.1; 0 takes a free one.",
  },
  drainMs: {
    flag: "drain-ms",
    env: "TIDEGATE_DRAIN_MS",
    takes: number("MS", DRAIN_MS_MAX),
    fallback: "25000",
    commands: ["run", "dev"],
    doc: "How long running handlers may go on after a signal before they are released.",
  },
  logLevel: {
    flag: "log-level",
    env: "TIDEGATE_LOG_LEVEL",
    takes: { kind: "choice", choices: LOG_LEVELS },
    fallback: "info",
    devFallback: "warn",
    commands: ["run", "dev"],
    doc: "Which lines are logged to stderr, as JSON.",
  },
  generation: {
    flag: "generation",
    env: "TIDEGATE_GENERATION",
    takes: number("NUMBER", GENERATION_MAX),
    fallback: null,
    commands: ["run", "dev"],
    doc: "Whose memory to use: 0 for live work, another for a replay; else what the file says.",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** What the library takes; each is told of in SETTINGS. */
export interface RunSettings {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly queue?: string | undefined;
  readonly deadLetterQueue?: string | undefined;
  readonly ledger?: string | undefined;
  readonly tablesDatabase?: string | undefined;
  readonly data?: string | undefined;
  readonly port?: number | undefined;
  readonly metricsPort?: number | undefined;
  readonly drainMs?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly generation?: number | undefined;
}

/** Those with a fallback are always there. */
export type FilledSettings = RunSettings & {
  readonly data: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly drainMs: number;
  readonly logLevel: LogLevel;
};

export function settingsOf(command: SettingCommand): readonly (readonly [SettingName, Setting])[] {
  const all = Object.entries(SETTINGS) as [SettingName, Setting][];
  return all.filter(([, { commands }]) => commands.includes(command));
}

/** What is used where nothing was given, as text. */
export function fallbackOf(setting: Setting, command: SettingCommand): string | null {
  return command === "dev" ? (setting.devFallback ?? setting.fallback) : setting.fallback;
}

/** The settings with every fallback filled in (C2). */
export function fillSettings(command: SettingCommand, given: RunSettings): FilledSettings {
  const filled: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting][]) {
    const fallback = fallbackOf(setting, command);
    const usual =
      fallback !== null && setting.takes.kind === "number" ? Number(fallback) : fallback;
    const value = given[name] ?? usual;
    if (value !== null) filled[name] = value;
  }
  return filled as unknown as FilledSettings;
}
