// Task world: an embedded cloud in this process, a pipeline file, and tidegate commands that
// process its messages by commands of their own.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import { type Cloud, createCloudQueue, startCloud } from "../../src/api/cloud.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import { sendTestMessage } from "../../src/testkit/test-message.ts";
import type { CommandRun, Commands } from "./command-process.ts";
import { LONG_LEASE_MS } from "./patience.ts";

export interface TaskWorld extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly queue: Queue;
  readonly deadLetters: Queue;
  readonly folder: string;
  send(n: number, group?: string): Promise<void>;
  /** Starts `tidegate task`, or another command that runs tasks. */
  run(words: readonly string[], more?: TaskRunOptions): CommandRun;
  rows(): { readonly n: number; readonly by: string }[];
  /** Freezes a process outside of its transactions: SQLite cannot free the lock of a frozen one. */
  freeze(run: CommandRun): Promise<void>;
  /** The ledger's records: state and class of the last failure. */
  records(): { readonly state: string; readonly error_class: string | null }[];
  /** Writes a script of Node, and returns the words that run it. */
  script(name: string, code: string): string[];
}

export interface TaskRunOptions {
  readonly command?: "task" | "dispatch";
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const ATTEMPTS = 2;

const TABLE = 'tables({ numbers: { columns: { n: "integer", by: "text" }, key: ["n"] } })';

function pipelineFile(queue: string, visibilityMs: number, sink: string): string {
  return `
import { pipeline, tables } from "tidegate";
export default pipeline({
  name: "numbers",
  source: { queue: "${queue}" },
  visibilityMs: ${visibilityMs},
  retry: { attempts: ${ATTEMPTS}, baseMs: 1, capMs: 2 },
  onPoison: "skip",
  sink: ${sink},
  handler() {
    throw new Error("this pipeline runs a command");
  },
});
`;
}

/** A script that writes the row of its record, as most tests need it. */
export const WRITE_ROW = `
import { appendFileSync, readFileSync } from "node:fs";
const { payload } = JSON.parse(readFileSync(process.env.TIDEGATE_EVENT_FILE, "utf8"));
const row = { n: payload.n, by: process.env.TIDEGATE_ATTEMPT };
const line = JSON.stringify({ op: "upsert", table: "numbers", row });
appendFileSync(process.env.TIDEGATE_RESULT_FILE, line + "\\n");
console.log("wrote", payload.n);
`;

export async function openTaskWorld(
  commands: Commands,
  options: {
    readonly fifo?: boolean;
    /** Default: a lease that does not lapse during the test. */
    readonly visibilityMs?: number;
    /** The code of the sink, instead of a table. */
    readonly sink?: string;
  } = {},
): Promise<TaskWorld> {
  const { fifo = false, visibilityMs = LONG_LEASE_MS, sink = TABLE } = options;
  const { folder } = commands;
  const suffix = fifo ? ".fifo" : "";
  const queueName = `numbers${suffix}`;
  const dead = `numbers-dead${suffix}`;
  const deadLetter = { queue: dead, maxReceiveCount: 1_000 };
  const queues = [{ name: dead }, { name: queueName, deadLetter }];
  const cloud = await startCloud({ memory: true, setup: { queues } });
  const file = join(folder, "pipeline.ts");
  writeFileSync(file, pipelineFile(queueName, visibilityMs, sink));
  const queue = createCloudQueue(cloud, { queue: queueName });
  const all = <T>(sql: string): T[] => {
    using database = new DatabaseSync(join(folder, ".tidegate", "ledger.db"));
    return database
      .prepare(sql)
      .all()
      .map((row) => ({ ...row })) as T[];
  };
  return {
    cloud,
    queue,
    folder,
    deadLetters: createCloudQueue(cloud, { queue: dead }),
    send: (n, group = "g") =>
      sendTestMessage(queue, { payload: { n }, group, dedupeKey: String(n) }, cloud.clock.now()),
    run(words, { command = "task", flags = [], env = {} } = {}) {
      const at = ["--endpoint", cloud.endpoint, "--region", "us-east-1", ...flags];
      return commands.start([command, file, ...at, "--", ...words], env);
    },
    async freeze({ child }) {
      for (;;) {
        child.kill("SIGSTOP");
        if (canWrite(join(folder, ".tidegate", "ledger.db"))) return;
        child.kill("SIGCONT");
        await setImmediate();
      }
    },
    rows: () => all("SELECT n, by FROM numbers ORDER BY n"),
    records: () =>
      all(`SELECT state, iif(json_valid(detail), detail ->> 'errorClass', NULL)
      AS error_class FROM ledger_record ORDER BY key`),
    script(name, code) {
      const path = join(folder, `${name}.mjs`);
      writeFileSync(path, code);
      return [process.execPath, path];
    },
    [Symbol.asyncDispose]: () => cloud.close(),
  };
}

/** Whether no other process is in a write transaction. */
function canWrite(path: string): boolean {
  using database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("BEGIN IMMEDIATE; ROLLBACK");
    return true;
  } catch {
    return false;
  }
}
