// Commands and functions: what a command asks or does is a function of `tidegate/operate`. Both run
// on a copy of the same data folder, and print the same.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { startCloud } from "../../../src/api/cloud.ts";
import {
  backupFolder,
  compactStores,
  compareResources,
  describeContract,
  diffContracts,
  examine,
  type Operator,
  openOperator,
  parseRunManifest,
  planResources,
  restoreFolder,
  writeTerraform,
} from "../../../src/api/operate.ts";
import { allCommands } from "../../../src/cli/command-table.ts";
import { readJobLines } from "../../../src/cli/flags/job-lines.ts";
import * as deadLetterText from "../../../src/cli/print/dead-letter-text.ts";
import { resultJson } from "../../../src/cli/print/job-text.ts";
import * as lateText from "../../../src/cli/print/late-text.ts";
import { statsLines, upgradeLines, viewLines } from "../../../src/cli/print/ledger-text.ts";
import { statusJson } from "../../../src/cli/print/pipeline-text.ts";
import * as quarantineText from "../../../src/cli/print/quarantine-text.ts";
import { recordJson } from "../../../src/cli/print/record-text.ts";
import * as replayText from "../../../src/cli/print/replay-text.ts";
import { completenessJson } from "../../../src/cli/print/watermark-text.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { diagnosisJson } from "../../../src/operate/doctor/report.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { loadPipeline } from "../../../src/run/open/load-pipeline.ts";
import { eventually } from "../../support/eventually.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("commands-and-functions");
const template = join(folder, "template");
const file = join(folder, "pipeline.ts");
const jobs = join(folder, "jobs.jsonl");
const contract = join(folder, "contract.json");
const backup = join(folder, "backup");
const DAY = (day: string) => Date.parse(`${day}T00:00:00Z`);
const MARCH = { from: DAY("2026-03-01"), to: DAY("2026-04-01") };
const QUEUES = { queues: [{ name: "jobs" }] };

const PIPELINE = `import { PermanentError, pipeline, tables } from "tidegate";
const schema = { "~standard": { version: 1, vendor: "test", validate(row) {
  const amount = Number(row.amount);
  if (Number.isNaN(amount)) return { issues: [{ message: "is not a number", path: ["amount"] }] };
  return { value: { id: row.id, amount } };
} } };
export default pipeline({
  name: "orders",
  source: { bucket: "orders", queue: "orders-events" },
  format: "csv",
  schema,
  onBadRow: "quarantine",
  eventTime: {
    of: ({ object }) => object.key.split("/")[0] + "T00:00:00Z",
    outOfOrderMs: 86_400_000,
    late: "hold",
  },
  retry: { attempts: 5, baseMs: 36_000_000, capMs: 36_000_000 },
  sink: tables({ item: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
  async handler({ object, rows }, { upsert }) {
    if (object.key.includes("failed")) throw new Error("not now");
    if (object.key.includes("dead")) throw new PermanentError("never", { class: "mood" });
    for await (const row of rows()) upsert("item", row);
  },
});
`;
const ROWS = "id,amount\n1,10\n2,20\n";

/** Names that the seed gave to its runs and to a record. */
const made = { run: "", replay: "", manifest: "", key: "" };

beforeAll(async () => {
  writeFileSync(file, PIPELINE);
  writeFileSync(jobs, '{"key":"a","body":1}\n{"key":"b","body":2}\n');
  const old = { ...(await describeContract(file)), retention: {} };
  writeFileSync(contract, JSON.stringify(old));
  await seedPipeline();
  await seedJobs();
  await backupFolder(template, backup);
});

async function seedPipeline(): Promise<void> {
  const settings = { data: template, port: 0, metricsPort: 0, logLevel: "error" } as const;
  await using dev = await startDev(await loadPipeline(file), settings, { file, onLogLine() {} });
  await dev.put("2026-03-09/good.csv", ROWS);
  await dev.put("2026-03-10/bad-row.csv", `${ROWS}3,many\n`);
  await dev.put("2026-03-10/failed.csv", ROWS);
  await dev.put("2026-03-10/dead.csv", ROWS);
  const ended = { committed: 2, retried: 1, deadLettered: 1 };
  await eventually(() => expect(dev.snapshot()).toMatchObject(ended));
  // Before that, no event is late.
  const reached = Date.parse("2026-03-01T00:00:00Z");
  await eventually(() => expect(dev.snapshot().watermark).toBeGreaterThan(reached));
  await dev.put("2026-02-01/late.csv", ROWS);
  await eventually(() => expect(dev.snapshot()).toMatchObject({ held: 1 }));
  const { endpoint } = dev;
  await using operator = openOperator({ pipeline: file, data: template, endpoint });
  made.run = (await operator.runs.list()).runs[0]?.id ?? "";
  made.replay = (await operator.replays.start(MARCH).result()).entry.run;
  made.manifest = await operator.replays.writeManifest(made.replay, folder);
  const { records } = await operator.records.list({ outcome: "committed" });
  made.key = records[0]?.key ?? "";
}

async function seedJobs(): Promise<void> {
  await using cloud = await startCloud({ data: template, port: 0, setup: QUEUES });
  await using operator = openOperator({
    pipeline: file,
    data: template,
    endpoint: cloud.endpoint,
    queue: "jobs",
  });
  await operator.jobs.register("first", () => readJobLines(jobs));
}

interface Call {
  readonly operator: Operator;
  /** The copy of the data folder. */
  readonly data: string;
  readonly endpoint: string;
}

interface Row {
  /** The words; --data, --endpoint, --pipeline and --json are added if the command has them. */
  readonly words: (call: Pick<Call, "data">) => readonly string[];
  /** The lines of the function's result. */
  readonly lines: (call: Call) => Promise<readonly string[]>;
  /** Why both print nothing. */
  readonly nothing?: string;
  /** Queue of jobs, instead of the pipeline's. */
  readonly queue?: "jobs";
  readonly without?: readonly ("--pipeline" | "--data")[];
}

const json = (value: unknown) => JSON.stringify(value);
const pretty = (value: unknown) => JSON.stringify(value, null, 2).split("\n");
const target = ["--queue", "jobs"];
const sqlite = (data: string) => `sqlite:${join(data, "ledger.db")}`;
const REASON = { failed: null };

async function linesOf<T>(steps: AsyncIterable<T>, print: (step: T) => string): Promise<string[]> {
  return (await Array.fromAsync(steps)).map(print);
}

async function withSummary<T>(
  run: AsyncIterable<T> & { result(): Promise<object> },
  print: (step: T) => string,
): Promise<string[]> {
  return [...(await linesOf(run, print)), json({ event: "summary", ...(await run.result()) })];
}

async function setsOf(sets: AsyncIterable<Parameters<typeof quarantineText.setJson>[0]>) {
  return (await Array.fromAsync(sets)).flatMap((set) => quarantineText.setJson(set));
}

const TABLE: Readonly<Record<string, Row>> = {
  audit: {
    words: () => [file, "--grace", "0"],
    lines: async ({ operator }) => [json(await operator.audits.run({ graceMs: 0 }).result())],
  },
  backfill: {
    words: () => [file, "--dry-run"],
    async lines({ operator }) {
      const run = operator.backfill({ dryRun: true });
      const steps = await Array.fromAsync(run);
      const progress = steps.map(({ kind: event, ...step }) => json({ event, ...step }));
      return [...progress, json({ event: "summary", dryRun: true, ...(await run.result()) })];
    },
  },
  why: {
    words: () => ["2026-03-10/dead.csv"],
    lines: async ({ operator }) => (await operator.history.find("2026-03-10/dead.csv")).map(json),
  },
  "runs list": {
    words: () => [],
    lines: async ({ operator }) => (await operator.runs.list()).runs.map(json),
  },
  "runs manifest": {
    words: () => [made.run],
    async lines({ operator }) {
      const pieces = await Array.fromAsync((await operator.runs.manifest(made.run)) ?? []);
      return pieces.join("").trimEnd().split("\n");
    },
  },
  lineage: {
    words: () => [made.run],
    async lines({ operator }) {
      const answer = await operator.lineage.document(made.run);
      return answer.kind === "missing" ? [] : pretty(answer.document);
    },
  },
  "records list": {
    words: () => ["--limit", "3"],
    lines: async ({ operator }) =>
      (await operator.records.list({}, { limit: 3, runs: true })).records.map(recordJson),
  },
  "records duplicates": {
    words: () => [],
    lines: async ({ operator }) => (await operator.records.duplicates()).map(json),
    nothing: "no message was delivered twice",
  },
  "dlq list": {
    words: () => ["--class", "mood"],
    lines: ({ operator }) =>
      linesOf(operator.deadLetters.list({ class: "mood" }), deadLetterText.deadLetterJson),
  },
  "dlq show": {
    words: () => ["dead.csv"],
    lines: ({ operator }) =>
      linesOf(operator.deadLetters.list({ key: "dead.csv" }), ({ dossier, state }) =>
        json({ ...dossier, state }),
      ),
  },
  "dlq redrive": {
    words: () => ["--follow", "0", "--limit", "1"],
    lines: ({ operator }) =>
      withSummary(
        operator.deadLetters.redrive({}, { followMs: 0, limit: 1 }),
        deadLetterText.eventJson,
      ),
  },
  "dlq drop": {
    words: () => ["--yes"],
    lines: ({ operator }) => linesOf(operator.deadLetters.drop({}), deadLetterText.eventJson),
  },
  "quarantine list": {
    words: () => [],
    lines: ({ operator }) => setsOf(operator.quarantine.list()),
  },
  "quarantine redrive": {
    words: () => ["--follow", "0"],
    lines: ({ operator }) =>
      linesOf(
        operator.quarantine.redrive({ generation: 0 }, { followMs: 0 }),
        quarantineText.redrivenJson,
      ),
  },
  "quarantine drop": {
    words: () => ["--yes"],
    lines: ({ operator }) =>
      linesOf(operator.quarantine.drop({ generation: 0 }), ({ ref, rows }) =>
        json({ event: "dropped", record_key: ref.of, set: ref.set, rows: rows.length }),
      ),
  },
  "late list": {
    words: () => [],
    lines: ({ operator }) => linesOf(operator.late.list({}), lateText.heldJson),
  },
  "late release": {
    words: () => ["--all"],
    lines: ({ operator }) => withSummary(operator.late.release({}), lateText.releaseJson),
  },
  watermark: {
    words: () => [file],
    lines: async ({ operator }) => (await operator.completeness.read()).map(completenessJson),
  },
  "pipeline pause": {
    words: () => [file],
    lines: async ({ operator }) => [statusJson((await operator.control.pause(OPERATOR)).status)],
  },
  "pipeline resume": {
    words: () => [file],
    lines: async ({ operator }) => [statusJson((await operator.control.resume()).status)],
  },
  "pipeline status": {
    words: () => [file],
    lines: async ({ operator }) =>
      (await operator.control.status()).map((each) => statusJson(each, each.records)),
  },
  retry: {
    words: () => ["2026-03-10/failed.csv"],
    lines: async ({ operator }) =>
      (await operator.history.retry("2026-03-10/failed.csv")).map(({ name, outcome }) =>
        json({ name, outcome: outcome.kind }),
      ),
  },
  replay: {
    words: () => [file, "--from", "2026-03-02", "--to", "2026-04-01"],
    async lines({ operator }) {
      const run = operator.replays.start({ from: DAY("2026-03-02"), to: MARCH.to });
      return [replayText.replayStatusJson(await run.result())];
    },
  },
  "replay list": {
    words: () => [],
    lines: async ({ operator }) => (await operator.replays.list()).map(replayText.replayStatusJson),
  },
  "replay show": {
    words: () => [made.replay],
    lines: async ({ operator }) => [
      replayText.replayStatusJson(await operator.replays.show(made.replay)),
    ],
  },
  "replay diff": {
    words: () => [made.replay],
    lines: async ({ operator }) => (await operator.replays.diff(made.replay)).map(json),
  },
  "replay promote": {
    words: () => [made.replay],
    async lines({ operator }) {
      return [json({ run: made.replay, ...(await operator.replays.promote(made.replay)) })];
    },
  },
  "replay drop": {
    words: () => [made.replay],
    async lines({ operator }) {
      await operator.replays.drop(made.replay);
      return [json({ run: made.replay, dropped: true })];
    },
  },
  reproduce: {
    words: () => [made.manifest],
    async lines({ operator }) {
      const manifest = parseRunManifest(readFileSync(made.manifest, "utf8"), made.manifest);
      return [json(await operator.replays.reproduce(manifest))];
    },
  },
  "jobs register": {
    words: () => [jobs, ...target, "--batch", "second"],
    queue: "jobs",
    lines: async ({ operator }) => [
      resultJson(await operator.jobs.register("second", () => readJobLines(jobs))),
    ],
  },
  "jobs list": {
    words: () => target,
    queue: "jobs",
    lines: ({ operator }) => linesOf(operator.jobs.batches(), json),
  },
  "jobs show": {
    words: () => [...target, "--batch", "first"],
    queue: "jobs",
    lines: async ({ operator }) => [json(await operator.jobs.batch("first", { jobsMax: 100 }))],
  },
  "jobs retry": {
    words: () => [...target, "--batch", "first"],
    queue: "jobs",
    lines: async ({ operator }) => [json(await operator.jobs.retry("first"))],
  },
  relay: {
    words: () => [...target, "--once"],
    queue: "jobs",
    lines: async ({ operator }) => [json({ ...(await operator.outbox.relay()), ...REASON })],
  },
  sweep: {
    words: () => target,
    queue: "jobs",
    lines: async ({ operator }) => [json({ ...(await operator.jobs.sweep()), ...REASON })],
  },
  "outbox stats": {
    words: ({ data }) => ["--url", sqlite(data), "--target", "jobs"],
    queue: "jobs",
    lines: async ({ operator }) => [json(await operator.outbox.stats())],
  },
  "outbox purge": {
    words: ({ data }) => ["--url", sqlite(data)],
    lines: async ({ operator }) => [purged(await operator.ledger.purgeOutbox().result())],
  },
  "ledger purge": {
    words: ({ data }) => ["--ledger", sqlite(data)],
    lines: async ({ operator }) => [purged(await operator.ledger.purge().result())],
  },
  "ledger init": {
    words: ({ data }) => ["--ledger", `sqlite:${join(data, "new.db")}`],
    async lines({ data }) {
      await using operator = openOperator({ ledger: `sqlite:${join(data, "new.db")}` });
      return [`The ${await operator.ledger.create()} ledger is ready.`];
    },
  },
  "ledger check": {
    words: () => [],
    async lines({ operator }) {
      const { problems } = await operator.ledger.check();
      return problems.length === 0 ? ["The ledger is sound."] : problems;
    },
  },
  "ledger migrate": {
    words: () => [],
    lines: async ({ operator }) => upgradeLines(await operator.ledger.migrate(), { dryRun: false }),
  },
  "ledger show": {
    words: () => ["--pipeline", "orders", "--key", made.key],
    without: ["--pipeline"],
    async lines({ operator }) {
      const view = await operator.ledger.show(made.key);
      return view === undefined ? [] : viewLines(view);
    },
  },
  "ledger stats": {
    words: () => [],
    lines: async ({ operator }) => statsLines(await operator.ledger.stats()),
  },
  compact: {
    words: ({ data }) => ["--url", sqlite(data)],
    without: ["--data"],
    lines: async ({ data }) => [
      json({ files: compactStores({ data: null, url: sqlite(data) }, () => {}) }),
    ],
  },
  backup: {
    words: ({ data }) => [join(data, "../copy")],
    lines: async ({ data }) => [json(await backupFolder(data, join(data, "../copy")))],
  },
  restore: {
    words: ({ data }) => [backup, "--data", join(data, "../restored")],
    without: ["--data"],
    lines: async ({ data }) => [json(restoreFolder(backup, join(data, "../restored")))],
  },
  "contract show": {
    words: () => [file],
    lines: async () => pretty(await describeContract(file)),
  },
  "contract diff": {
    words: () => [file, "--against", contract],
    async lines() {
      const before = JSON.parse(readFileSync(contract, "utf8"));
      return [json(diffContracts(before, await describeContract(file)))];
    },
  },
  doctor: {
    words: () => [file, "--queue", "orders-events"],
    async lines({ data, endpoint }) {
      const examined = await examine({ file, queues: ["orders-events"], data, endpoint });
      return [json(diagnosisJson(examined))];
    },
  },
  infra: {
    words: ({ data }) => [file, "--out", join(data, "../terraform")],
    async lines({ data }) {
      const terraform = join(data, "../terraform");
      const plan = await planResources(file, { ledger: "dynamodb", alarms: true, compute: "none" });
      return [json({ folder: terraform, plan, ...writeTerraform(plan, terraform) })];
    },
  },
  "infra diff": {
    words: () => [file],
    async lines({ endpoint }) {
      const plan = await planResources(file, { ledger: "dynamodb", alarms: true, compute: "none" });
      return [json({ differences: await compareResources(plan, { endpoint }) })];
    },
  },
};

const OPERATOR = { by: "someone" };
const purged = (count: number) => json({ purged: count, interrupted: false });

/** Commands that have no function in `tidegate/operate`. */
const WITHOUT: Readonly<Record<string, string>> = {
  up: "startCloud of tidegate/cloud",
  dev: "startDev of tidegate/run",
  run: "startPipeline of tidegate/run",
  task: "starts the user's command on one message, and ends with its exit code",
  dispatch: "starts the user's command on each message, until a signal",
  console: "serves a page, until a signal",
  init: "writes files for a person to edit",
  top: "shows the /metrics of a running pipeline",
  "audit verify": "checkStatement, in words; audit-command tests compare them",
  "replay cancel": "only a replay that runs elsewhere can be cancelled; see replay.test.ts",
  comply: "runCompliance of tidegate/testkit",
  prove: "handlerProof of tidegate/testkit",
  sim: "runs Tidegate itself in a simulated world",
  "policy explain": "evaluates a file of keys, and asks nothing of a pipeline",
  "doctor explain": "runs a mistake in the simulated world",
};

let copies = 0;

/** Runs `work` on a copy of the seeded folder, with a cloud. */
async function onCopy(
  work: (data: string, endpoint: string) => Promise<readonly string[]>,
): Promise<string> {
  copies += 1;
  const root = join(folder, `copy-${copies}`);
  mkdirSync(root);
  const data = join(root, "data");
  cpSync(template, data, { recursive: true });
  await using cloud = await startCloud({ data, port: 0, setup: QUEUES });
  const lines = await work(data, cloud.endpoint);
  return comparable(lines.join("\n"), root, cloud.endpoint);
}

/** Without what differs from run to run: places, instants, and names that are drawn. */
function comparable(text: string, root: string, endpoint: string): string {
  return text
    .replaceAll(root, "ROOT")
    .replaceAll(endpoint, "ENDPOINT")
    .replaceAll(/"digest": ?"[^"]*"/g, '"digest":"of the places and instants"')
    .replaceAll(/"by":"[^"]*"/g, '"by":"someone"')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "INSTANT")
    .replaceAll(/\b1[5-9]\d{11}\b/g, "0");
}

async function commandLines(name: string, row: Row, data: string, endpoint: string) {
  const { flags } = (await allCommands()).find((each) => each.name === name) ?? { flags: {} };
  const common = { "--data": data, "--endpoint": endpoint, "--pipeline": file };
  const given = Object.entries(common).filter(([flag]) => {
    return flag.slice(2) in flags && !row.without?.some((each) => each === flag);
  });
  const words = [...name.split(" "), ...row.words({ data }), ...given.flat()];
  const lines: string[] = [];
  const notes: string[] = [];
  await runCli([...words, ...("json" in flags ? ["--json"] : [])], {
    terminal: false,
    line: (line) => void lines.push(line),
    note: (note) => void notes.push(note),
  });
  return lines.length > 0 || row.nothing !== undefined ? lines : expect.fail(notes.join("\n"));
}

test("every command is compared with its function, or says why it has none", async () => {
  const names = (await allCommands()).map(({ name }) => name);
  expect([...Object.keys(TABLE), ...Object.keys(WITHOUT)].toSorted()).toEqual(names.toSorted());
});

test.each(Object.entries(TABLE))("%s prints what its function returns", async (name, row) => {
  const printed = await onCopy((data, endpoint) => commandLines(name, row, data, endpoint));
  const returned = await onCopy(async (data, endpoint) => {
    const { queue } = row;
    await using operator = openOperator({ pipeline: file, data, endpoint, queue });
    return row.lines({ operator, data, endpoint });
  });
  expect(printed).toBe(returned);
  expect(printed === "").toBe(row.nothing !== undefined);
});
