// Import rules: the import table of the repository, as data. ARCHITECTURE.md draws it.
//   H1. Imports that are not listed are forbidden. A new part or a new package needs a line here
//       and a decision record with its reason.
//   H2. Only parts marked `machine` may use time, randomness, the process, the disk or the network.

export interface Room {
  /** Parts it may import. */
  readonly imports: readonly string[];
  /** Parts of which it may import types only. */
  readonly types?: readonly string[];
  /** Further files of which it may import values. */
  readonly files?: readonly string[];
  /** Packages it may import: from npm by name, Node's with "node:". */
  readonly packages: readonly string[];
  readonly machine?: true;
}

/** Stands for a module of the user, which is imported by its path. */
export const USER_MODULE = "a module of the user";

const BROKER = ["broker", "broker/model", "broker/engine", "broker/wire"];
const INGEST = ["ingest", "ingest/policy"];
const EMBEDDED_STORES = ["stores/memory", "stores/sqlite", "stores/files"];
const STORES = ["stores/memory", "stores/sqlite", "stores/postgres", "stores/dynamodb"];
const SEAMS = ["core", "ports"];
const RECORDS = [...SEAMS, "ledger"];

/** The broker's refusals: the same values in model, engine and wire. */
const FAULTS = "src/broker/model/fault.ts";

/** The changes that the models decide on and the BrokerStore saves: types, and no other port. */
const BROKER_CHANGES = ["src/ports/broker/broker-change.ts", "src/ports/broker/object-change.ts"];

export const ROOMS: Readonly<Record<string, Room>> = {
  core: { imports: [], packages: ["node:crypto"] },
  ports: { imports: ["core"], packages: [] },
  ledger: { imports: SEAMS, packages: [] },
  "broker/model": { imports: ["core"], files: BROKER_CHANGES, packages: [] },
  "broker/engine": { imports: [...SEAMS, "broker/model"], packages: [] },
  "broker/wire": {
    imports: [...SEAMS, "broker/engine"],
    types: ["broker/model"],
    files: [FAULTS],
    // MD5 sums for AWS's responses; UTF-8 checks; XML from S3's clients.
    packages: ["node:crypto", "node:buffer", "fast-xml-parser"],
  },
  // Files in src/broker itself: http.ts, the whole broker as one function.
  broker: {
    imports: [...SEAMS, "broker/engine", "broker/wire"],
    types: ["broker/model"],
    files: [FAULTS],
    packages: [],
  },
  "ingest/policy": { imports: ["core"], packages: [] },
  // Documents about runs: pure renderings of recorded facts.
  lineage: { imports: ["core"], packages: [] },
  // The facts that a ledger has of runs, as those documents need them.
  "lineage/recorded": { imports: [...RECORDS, ...INGEST, "replay", "lineage"], packages: [] },
  ingest: { imports: [...RECORDS, "ingest/policy"], packages: [] },
  // The past through the stages of ingest; `run` opens ledger, sink and objects for it.
  replay: { imports: [...RECORDS, ...INGEST], packages: [] },
  // A bucket through the stages of ingest; `operate` opens what it needs.
  backfill: { imports: [...RECORDS, ...INGEST], packages: [] },
  // Bucket, ledger and sink compared; `operate` and `run` open them.
  audit: { imports: [...RECORDS, ...INGEST], packages: [] },
  produce: { imports: RECORDS, packages: [] },
  // Plans, policies and Terraform texts, pure; `operate` reads and writes files and asks AWS.
  infra: { imports: SEAMS, packages: [] },
  readers: {
    imports: RECORDS,
    // Parsers and decompressors only; nothing that opens a file or a socket.
    packages: ["csv-parse", "hyparquet", "node:buffer", "node:zlib"],
  },
  "stores/memory": { imports: RECORDS, packages: [], machine: true },
  "stores/sqlite": {
    imports: RECORDS,
    packages: ["node:sqlite", "node:fs", "node:path", "node:worker_threads", "node:zlib"],
    machine: true,
  },
  "stores/files": {
    imports: RECORDS,
    // The broker's log and its blobs share a disk, and say in the same words that it is full.
    files: ["src/stores/sqlite/sqlite-code.ts"],
    packages: ["node:fs", "node:path", "node:crypto"],
    machine: true,
  },
  "stores/postgres": { imports: RECORDS, packages: ["pg"], machine: true },
  "stores/dynamodb": { imports: RECORDS, packages: ["@aws-sdk/client-dynamodb"], machine: true },
  // A table may be in a database of its own: connection, time limits and faults are as a ledger's.
  "sinks/table": {
    imports: [...RECORDS, "stores/sqlite", "stores/postgres"],
    packages: ["node:sqlite", "pg"],
    machine: true,
  },
  "sinks/function": { imports: RECORDS, packages: [] },
  "sinks/objects": { imports: RECORDS, packages: [] },
  // Rules and parsers of the doctor; operate/doctor reads files and queues for it.
  doctor: { imports: SEAMS, packages: ["@babel/parser", "@lezer/python", "acorn", "yaml"] },
  telemetry: {
    imports: RECORDS,
    packages: [
      "pino",
      "node:http",
      "node:https",
      "@opentelemetry/api",
      "@opentelemetry/exporter-metrics-otlp-http",
      "@opentelemetry/exporter-trace-otlp-http",
      "@opentelemetry/resources",
      "@opentelemetry/sdk-metrics",
      "@opentelemetry/sdk-trace-base",
    ],
    machine: true,
  },
  // What an operator can ask or do: finds ledger, queue and objects, and calls the parts. It copies
  // and compacts whole folders, and reads table sinks, which have no port.
  operate: {
    imports: [
      ...RECORDS,
      ...INGEST,
      "replay",
      "backfill",
      "audit",
      "lineage",
      "produce",
      "readers",
      "sinks/table",
      "stores/sqlite",
      "platform",
      "run",
      // What doctor, infra and lineage say of a pipeline; each has its function here.
      "doctor",
      "infra",
      "lineage/recorded",
      "telemetry",
      "aws",
    ],
    // Queues, topics and buckets of an embedded cloud in this process.
    types: ["broker/engine", "broker/model"],
    packages: [
      "node:fs",
      "node:os",
      "node:path",
      "node:crypto",
      // The readers of audits and of pages.
      "node:worker_threads",
      // The doctor and `infra diff` read what exists.
      "@aws-sdk/client-cloudwatch",
      "@aws-sdk/client-dynamodb",
      "@aws-sdk/client-ecs",
      "@aws-sdk/client-iam",
      "@aws-sdk/client-kms",
      "@aws-sdk/client-lambda",
      "@aws-sdk/client-s3",
      "@aws-sdk/client-sns",
      "@aws-sdk/client-sqs",
    ],
    machine: true,
  },
  // Assembles a pipeline for `tidegate run`, `tidegate dev` and the library.
  run: {
    imports: [
      ...RECORDS,
      ...INGEST,
      ...EMBEDDED_STORES,
      "stores/postgres",
      "stores/dynamodb",
      "sinks/table",
      "sinks/function",
      "sinks/objects",
      "aws",
      "cloud",
      "platform",
      "telemetry",
      "readers",
      // What a running pipeline does beside its records: audits, sweeps of jobs, lineage, findings.
      "audit",
      "produce",
      "doctor",
      "lineage",
      "lineage/recorded",
    ],
    types: ["broker/engine", "broker/model"],
    files: ["src/broker/wire/protocol/host-guard.ts"], // One guard for all of our listeners.
    packages: [
      "@aws-sdk/client-s3",
      "@aws-sdk/client-sns",
      "@aws-sdk/client-sqs",
      "node:child_process",
      "node:crypto",
      "node:fs",
      "node:module",
      "node:os",
      "node:path",
      "node:stream",
      "node:url",
      "node:util",
      "node:worker_threads",
      USER_MODULE,
    ],
    machine: true,
  },
  // One file per subpath of the package, with the system's clock and random numbers as defaults. A
  // subpath for programs calls `operate` and `run`; the others are what a program puts together.
  api: {
    imports: [
      "core",
      "operate",
      "run",
      "cloud",
      "aws",
      "produce",
      "telemetry",
      "testkit",
      ...STORES,
    ],
    types: ["ports", "ingest"],
    files: [
      "src/adapters/lambda/lambda-handler.ts",
      "src/adapters/lambda/open-lambda.ts",
      "src/console/mount-console.ts", // For `startDev`.
      "src/console/serve-console.ts",
      "src/platform/index.ts", // The system's clock and random numbers.
      "src/platform/print-error.ts",
      "src/sinks/objects/objects-sink.ts",
    ],
    packages: [],
  },
  // src/index.ts: the exports of "tidegate", names only.
  index: { imports: ["core", "ingest"], packages: [] },
  aws: {
    imports: RECORDS,
    packages: ["@aws-sdk/client-sqs", "@aws-sdk/client-sns", "@aws-sdk/client-s3"],
    machine: true,
  },
  platform: {
    imports: RECORDS,
    packages: [
      "node:crypto",
      "node:http",
      "node:https",
      "node:os",
      "node:v8",
      "node:fs",
      "node:path",
      "node:dns",
      "node:net",
      "node:timers",
      // Finds out which handler reads the clock during `tidegate prove`.
      "node:async_hooks",
      "node:module",
      // Ends a decoder that never returns.
      "node:vm",
    ],
    machine: true,
  },
  cloud: {
    imports: [...RECORDS, ...BROKER, "platform", "telemetry", ...EMBEDDED_STORES],
    packages: ["node:fs", "node:path", "node:http", "node:net"],
    machine: true,
  },
  sim: {
    imports: [
      ...RECORDS,
      ...BROKER,
      ...INGEST,
      "produce",
      "replay",
      "backfill",
      "audit",
      ...EMBEDDED_STORES,
      "sinks/function",
      "sinks/objects",
      "sinks/table",
      "readers",
    ],
    // Both ends of a queue in process: the same adapter as in `tidegate dev`.
    files: ["src/cloud/broker-queue.ts"],
    packages: ["fast-check"],
  },
  // Other ways to be started than a long-running process: Lambda, and one task per message.
  adapters: {
    imports: [...RECORDS, ...INGEST, "platform", "readers", "telemetry", "run"],
    packages: [
      "@aws-sdk/client-ecs",
      "node:child_process",
      "node:fs",
      "node:os",
      "node:path",
      "node:stream",
      "node:url",
    ],
    machine: true,
  },
  testkit: {
    imports: [
      ...RECORDS,
      ...BROKER,
      ...INGEST,
      ...EMBEDDED_STORES,
      "produce",
      "cloud",
      "sim",
      "readers",
      "platform",
      "sinks/function",
      "sinks/table",
    ],
    // A test pipeline runs on the same queues, topic and bucket as `tidegate dev`.
    files: ["src/run/dev/dev-setup.ts", "src/run/dev/put-object.ts"],
    packages: ["fast-check"],
  },
  // The console's API: parses requests, calls the functions of operate, and answers with JSON.
  "console/api": { imports: ["core", "operate", "run"], packages: [] },
  // The web page: a client of the JSON API that runs in a browser, so it imports no other part.
  "console/app": {
    imports: [],
    types: ["console/api"], // The answers of the API.
    files: [
      "src/core/encoding/printable.ts", // The page shows what the command line shows.
      "src/ingest/policy/redrive-stop.ts", // The defaults of a redrive, in its dialog.
    ],
    packages: ["preact", "uplot"],
    machine: true,
  },
  // Serves API and page: on the port of an embedded cloud, or on a port of their own.
  console: {
    imports: [...SEAMS, "operate", "run", "cloud", "platform", "console/api"],
    types: ["ingest"],
    files: ["src/broker/wire/protocol/host-guard.ts"], // As in the embedded cloud.
    packages: ["node:child_process", "node:fs", "node:os", "node:path", "node:url"],
    machine: true,
  },
  // Parses, calls and prints: what a command asks or does is a function of `operate` or `run`.
  cli: {
    imports: ["core", "operate", "run", "cloud"],
    files: [
      // The process: its clock, memory, warnings and version.
      "src/platform/bound-heap.ts",
      "src/platform/package-version.ts",
      "src/platform/quiet-warnings.ts",
      "src/platform/system-clock.ts",
      "src/platform/system-turn.ts",
      // `sim` and `doctor explain`, `prove` and `comply`, `task` and `dispatch`: one function each.
      "src/sim/judge-seed.ts",
      "src/sim/mistakes/explain-mistake.ts",
      "src/testkit/proof/prove-handler.ts",
      "src/testkit/compliance/compliance.ts",
      "src/adapters/task/open-tasks.ts",
      // `up`, `dev` and `console`: who serves a console.
      "src/console/mount-console.ts",
      "src/console/serve-console.ts",
      "src/console/start-console.ts",
    ],
    packages: [
      "node:fs",
      "node:module",
      "node:os",
      "node:path",
      "node:readline",
      "node:stream",
      "node:url",
      "node:util",
      "node:worker_threads",
      USER_MODULE,
    ],
    machine: true,
  },
};

/** How many files of a part may import a package, so that its use stays in one place. */
export const FILES_MAX: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  core: { "node:crypto": 1 },
  "broker/wire": { "node:crypto": 1, "fast-xml-parser": 1 },
  readers: { "csv-parse": 1 },
};

const NESTED = new Set(["broker", "ingest", "lineage", "console"]);
const FAMILIES = new Set(["stores", "sinks"]);

/** The part of a file, or null for tests, scripts and benchmarks, which may import all. */
export function roomOf(path: string): string | null {
  const [top, first = "", second = "", ...deeper] = path.split("/");
  if (top !== "src" || /\.test\.ts$/.test(path)) return null;
  if (FAMILIES.has(first)) return `${first}/${second}`;
  const inside = `${first}/${second}`;
  if (NESTED.has(first) && deeper.length > 0 && ROOMS[inside] !== undefined) return inside;
  return second === "" ? "index" : first;
}

export function allows(list: readonly string[], wanted: string): boolean {
  return list.includes(wanted);
}
