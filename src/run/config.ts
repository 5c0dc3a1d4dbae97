// Config: the table of everything that can be set when a pipeline is started.
//   C1. The flags and help of `tidegate run` and `tidegate dev`, the variables TIDEGATE_*, the
//       settings of the library and docs/reference/configuration.md all come from this table.
//   C2. Flags override environment variables, which override defaults. Only commands read
//       variables: a library that did would behave differently in another shell.

import { RETENTION_DAYS_MAX } from "../core/limits.ts";
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
    | { readonly kind: "choice"; readonly choices: readonly string[] }
    | { readonly kind: "toggle" };
  /** Null without a default, or if `doc` describes it. */
  readonly fallback: string | null;
  /** The default of `dev`, if it differs. */
  readonly devFallback?: string;
  readonly commands: readonly SettingCommand[];
  readonly doc: string;
}

const PORT_MAX = 65_535;
const GENERATION_MAX = 1_000_000;
const MESSAGES_MAX = 1_000_000_000;
/** An orchestrator sends SIGKILL long before. */
const DRAIN_MS_MAX = 3_600_000;
/** Ten years. */
const AUDIT_HOURS_MAX = 87_600;
/** A week. */
const SWEEP_MINUTES_MAX = 10_080;
const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const text = (value: string) => ({ kind: "text", value }) as const;
const number = (value: string, max: number, min = 0) =>
  ({ kind: "number", value, min, max }) as const;

/** In the order of the help and of the page. */
export const SETTINGS = {
  endpoint: {
    flag: "endpoint",
    env: "TIDEGATE_ENDPOINT",
    takes: text("URL"),
    fallback: null,
    commands: ["run"],
    doc:
      "SQS and S3 endpoint (default: AWS_ENDPOINT_URL, else the cloud running on --data, else AWS; " +
      "another ledger disables the search for a running cloud).",
  },
  region: {
    flag: "region",
    env: "TIDEGATE_REGION",
    takes: text("REGION"),
    fallback: null,
    devFallback: "us-east-1",
    commands: ["run", "dev"],
    doc:
      "Region of queues and buckets; without it, `run` uses us-east-1 on a local endpoint, else " +
      "what the AWS SDK finds.",
  },
  queue: {
    flag: "queue",
    env: "TIDEGATE_QUEUE",
    takes: text("QUEUE"),
    fallback: null,
    commands: ["run"],
    doc: "Name or URL of the queue to consume (default: from the pipeline file).",
  },
  deadLetterQueue: {
    flag: "dead-letter-queue",
    env: "TIDEGATE_DEAD_LETTER_QUEUE",
    takes: text("QUEUE"),
    fallback: null,
    commands: ["run"],
    doc: "Name or URL of the dead-letter queue (default: from the redrive policy).",
  },
  ledger: {
    flag: "ledger",
    env: "TIDEGATE_LEDGER",
    takes: text("URL"),
    fallback: null,
    commands: ["run"],
    doc: "sqlite:path, postgres://… or dynamodb://table (default: ledger.db in the data folder).",
  },
  tablesDatabase: {
    flag: "tables-database",
    env: "TIDEGATE_TABLES_DATABASE",
    takes: text("DATABASE"),
    fallback: null,
    commands: ["run"],
    doc: "postgres://… or SQLite file for tables() (default: from the pipeline file, or the ledger's).",
  },
  data: {
    flag: "data",
    env: "TIDEGATE_DATA",
    takes: text("FOLDER"),
    fallback: ".tidegate",
    commands: ["run", "dev"],
    doc: "Folder for everything that must survive a restart.",
  },
  port: {
    flag: "port",
    env: "TIDEGATE_PORT",
    takes: number("PORT", PORT_MAX),
    fallback: "4566",
    commands: ["dev"],
    doc: "Port of the embedded cloud; 0 picks a free one.",
  },
  allowHost: {
    flag: "allow-host",
    env: "TIDEGATE_ALLOW_HOST",
    takes: text("NAME[,NAME]"),
    fallback: null,
    commands: ["dev"],
    doc: "Further host names that clients may call the embedded cloud by.",
  },
  baseHost: {
    flag: "base-host",
    env: "TIDEGATE_BASE_HOST",
    takes: text("NAME"),
    fallback: null,
    commands: ["dev"],
    doc: "Host name whose subdomains are buckets: tidegate for http://bucket.tidegate:4566.",
  },
  allowLinkLocal: {
    flag: "allow-link-local",
    env: "TIDEGATE_ALLOW_LINK_LOCAL",
    takes: { kind: "toggle" },
    fallback: null,
    commands: ["dev"],
    doc: "Let topics deliver to link-local addresses, such as a metadata service.",
  },
  metricsPort: {
    flag: "metrics-port",
    env: "TIDEGATE_METRICS_PORT",
    takes: number("PORT", PORT_MAX),
    fallback: "9464",
    devFallback: "0",
    commands: ["run", "dev"],
    doc: "Port of /metrics and /health; 0 picks a free one.",
  },
  metricsHost: {
    flag: "metrics-host",
    env: "TIDEGATE_METRICS_HOST",
    takes: text("HOST"),
    fallback: "127.0.0.1",
    commands: ["run", "dev"],
    doc: "Address on which /metrics and /health listen; 0.0.0.0 lets every network read them.",
  },
  once: {
    flag: "once",
    env: "TIDEGATE_ONCE",
    takes: { kind: "toggle" },
    fallback: null,
    commands: ["run"],
    doc: "Process the messages that are in the queue, and exit when a receive returns none.",
  },
  maxMessages: {
    flag: "max-messages",
    env: "TIDEGATE_MAX_MESSAGES",
    takes: number("NUMBER", MESSAGES_MAX, 1),
    fallback: null,
    commands: ["run"],
    doc: "Receive this many messages, finish them, and exit.",
  },
  exitWhenIdle: {
    flag: "exit-when-idle",
    env: "TIDEGATE_EXIT_WHEN_IDLE",
    takes: { kind: "toggle" },
    fallback: null,
    commands: ["run"],
    doc: "Exit when the queue is empty, messages that wait for a retry included.",
  },
  drainMs: {
    flag: "drain-ms",
    env: "TIDEGATE_DRAIN_MS",
    takes: number("MS", DRAIN_MS_MAX),
    fallback: "25000",
    commands: ["run", "dev"],
    doc: "How long running handlers may continue after a signal before they are stopped.",
  },
  logLevel: {
    flag: "log-level",
    env: "TIDEGATE_LOG_LEVEL",
    takes: { kind: "choice", choices: LOG_LEVELS },
    fallback: "info",
    devFallback: "warn",
    commands: ["run", "dev"],
    doc: "Lowest level that is logged to stderr, as JSON.",
  },
  generation: {
    flag: "generation",
    env: "TIDEGATE_GENERATION",
    takes: number("NUMBER", GENERATION_MAX),
    fallback: null,
    commands: ["run", "dev"],
    doc: "Ledger generation: 0 for live data. Another one needs its own queue (default: from the pipeline file, or 0).",
  },
  ledgerRetentionDays: {
    flag: "ledger-retention-days",
    env: "TIDEGATE_LEDGER_RETENTION_DAYS",
    takes: number("DAYS", RETENTION_DAYS_MAX, 1),
    fallback: null,
    commands: ["run", "dev"],
    doc: "Days for which the ledger keeps a record (default: from the pipeline file, or 45).",
  },
  outboxRetentionDays: {
    flag: "outbox-retention-days",
    env: "TIDEGATE_OUTBOX_RETENTION_DAYS",
    takes: number("DAYS", RETENTION_DAYS_MAX, 1),
    fallback: null,
    commands: ["run", "dev"],
    doc:
      "Days for which sent rows of an outbox in the ledger's store are kept (default: from the " +
      "pipeline file, or as the producer set).",
  },
  outbox: {
    flag: "outbox",
    env: "TIDEGATE_OUTBOX",
    takes: text("URL"),
    fallback: null,
    commands: ["run"],
    doc: "Outbox of the jobs in the queue, for --sweep-minutes (default: in the ledger's store).",
  },
  sweepMinutes: {
    flag: "sweep-minutes",
    env: "TIDEGATE_SWEEP_MINUTES",
    takes: number("MINUTES", SWEEP_MINUTES_MAX),
    fallback: null,
    commands: ["run"],
    doc: "Minutes between two sweeps of the outbox for unsent and stuck jobs (default: 0, never).",
  },
  stuckMinutes: {
    flag: "stuck-minutes",
    env: "TIDEGATE_STUCK_MINUTES",
    takes: number("MINUTES", SWEEP_MINUTES_MAX, 1),
    fallback: null,
    commands: ["run"],
    doc: "Age of a sent, unclaimed job at which a sweep republishes it (default: 720).",
  },
  auditMinutes: {
    flag: "audit-minutes",
    env: "TIDEGATE_AUDIT_MINUTES",
    takes: number("MINUTES", SWEEP_MINUTES_MAX),
    fallback: null,
    commands: ["run"],
    doc: "Minutes between two audits of bucket, ledger and sink (default: 0, never).",
  },
  auditHours: {
    flag: "audit-hours",
    env: "TIDEGATE_AUDIT_HOURS",
    takes: number("HOURS", AUDIT_HOURS_MAX, 1),
    fallback: null,
    commands: ["run"],
    doc: "How far back a scheduled audit looks, by last modification (default: 24).",
  },
  auditSuffix: {
    flag: "audit-suffix",
    env: "TIDEGATE_AUDIT_SUFFIX",
    takes: text("TEXT"),
    fallback: null,
    commands: ["run"],
    doc: "Suffix of the bucket's notification: a scheduled audit ignores other keys (default: none).",
  },
  acceptClock: {
    flag: "accept-clock",
    env: "TIDEGATE_ACCEPT_CLOCK",
    takes: { kind: "toggle" },
    fallback: null,
    commands: ["run", "dev"],
    doc: "Believe the clock, however far it is ahead of the ledger and the data.",
  },
  openlineage: {
    flag: "openlineage",
    env: "TIDEGATE_OPENLINEAGE",
    takes: text("URL|FILE"),
    fallback: null,
    commands: ["run", "dev"],
    doc: "OpenLineage server or file to which the run reports its start and end (default: none).",
  },
  manifests: {
    flag: "manifests",
    env: "TIDEGATE_MANIFESTS",
    takes: text("FOLDER|URL"),
    fallback: null,
    commands: ["run", "dev"],
    doc:
      "Folder or s3://bucket/prefix for the daily manifests of runs (default: none; with dev, " +
      "manifests in the data folder).",
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** The settings of the library; SETTINGS describes each. */
export interface RunSettings {
  readonly endpoint?: string | undefined;
  readonly region?: string | undefined;
  readonly queue?: string | undefined;
  readonly deadLetterQueue?: string | undefined;
  readonly ledger?: string | undefined;
  readonly tablesDatabase?: string | undefined;
  readonly data?: string | undefined;
  readonly port?: number | undefined;
  readonly allowHost?: string | undefined;
  readonly baseHost?: string | undefined;
  readonly allowLinkLocal?: boolean | undefined;
  readonly metricsPort?: number | undefined;
  readonly metricsHost?: string | undefined;
  readonly once?: boolean | undefined;
  readonly maxMessages?: number | undefined;
  readonly exitWhenIdle?: boolean | undefined;
  readonly drainMs?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly generation?: number | undefined;
  readonly ledgerRetentionDays?: number | undefined;
  readonly outboxRetentionDays?: number | undefined;
  readonly outbox?: string | undefined;
  readonly sweepMinutes?: number | undefined;
  readonly stuckMinutes?: number | undefined;
  readonly auditMinutes?: number | undefined;
  readonly auditHours?: number | undefined;
  readonly auditSuffix?: string | undefined;
  readonly acceptClock?: boolean | undefined;
  readonly openlineage?: string | undefined;
  readonly manifests?: string | undefined;
}

/** Settings with a default are always present. */
export type FilledSettings = RunSettings & {
  readonly data: string;
  readonly port: number;
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly drainMs: number;
  readonly logLevel: LogLevel;
};

export function settingsOf(command: SettingCommand): readonly (readonly [SettingName, Setting])[] {
  const all = Object.entries(SETTINGS) as [SettingName, Setting][];
  return all.filter(([, { commands }]) => commands.includes(command));
}

/** The default of a command, as text. */
export function fallbackOf(setting: Setting, command: SettingCommand): string | null {
  return command === "dev" ? (setting.devFallback ?? setting.fallback) : setting.fallback;
}

/** The settings with all defaults filled in (C2). */
export function fillSettings(command: SettingCommand, given: RunSettings): FilledSettings {
  const filled: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting][]) {
    const fallback = fallbackOf(setting, command);
    const value =
      given[name] ??
      (fallback !== null && setting.takes.kind === "number" ? Number(fallback) : fallback);
    if (value !== null) filled[name] = value;
  }
  return filled as unknown as FilledSettings;
}
