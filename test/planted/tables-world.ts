// Tables world: the production consumer, ledger and table sink in virtual time, with large objects
// that are staged in chunks, rows that are quarantined and redriven, and an existing table with
// triggers. Faults are chosen by seed: a call fails, or its response is lost, or the process
// crashes or freezes within it, between two chunks, before the commit, or after it.
//   W1. In the end the table has the rows of each object's newest version, and no others.
//   W2. A row that the schema rejects is quarantined once. After the schema is fixed and the rows
//       are redriven, all rows are in the table, and nothing is in quarantine.
//   W3. The trigger saw every change of a row once.
//   W4. Nothing of a dead attempt stays in the database after a sweep.

import { createBrokerQueue } from "../../src/cloud/broker-queue.ts";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";
import { TidegateError } from "../../src/core/errors.ts";
import { createSeededRandom, type SeededRandom } from "../../src/core/seeded-random.ts";
import { addMs, days, durationMs, minutes } from "../../src/core/units.ts";
import {
  type QuarantinedSet,
  quarantinedSets,
  redriveSets,
} from "../../src/ingest/quarantine/quarantine-access.ts";
import { type Consumer, createConsumer } from "../../src/ingest/running/consumer.ts";
import { createLeaseRenewer } from "../../src/ingest/running/lease-renewer.ts";
import { type Pipeline, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import { afterRealTurns } from "../../src/platform/real-turns.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { systemTurn } from "../../src/platform/system-turn.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Queue } from "../../src/ports/queue-receiver.ts";
import type { SinkStore } from "../../src/ports/sink.ts";
import { createRowReader } from "../../src/readers/row-reader.ts";
import { putLocalObject } from "../../src/run/dev/put-object.ts";
import { createMemoryTables, type MemoryTables } from "../../src/sinks/table/memory-tables.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";

const SCOPE = { pipeline: "tables", generation: 0 };
const MAX_AT_FIRST = 100;
const TURNS = 20;
const STEP_MS_MAX = 60_000;
const IDLE_MS_MAX = 86_400_000;
const HANDLER_REAL_MS = durationMs(2_000);

const FAULTY = ["commit", "commitDirect", "addNotes", "removeNotes", "findNote", "run"] as const;
type FaultKind = "fails" | "lost" | "crashes" | "freezes";

interface Fault {
  readonly method: (typeof FAULTY)[number];
  readonly nth: number;
  readonly kind: FaultKind;
}

interface Version {
  readonly object: string;
  /** Numbers of the rows by their ids. */
  readonly rows: ReadonlyMap<string, number>;
}

/** What one seed runs. */
function planOf(random: SeededRandom) {
  const large = random.below(2) === 0 ? random.pick(["a", "b"]) : null;
  const versions: Version[] = [];
  for (let at = 0; at < 4; at += 1) {
    const object = random.pick(["a", "b"]) ?? "a";
    const rows = new Map<string, number>();
    const count = object === large ? 11_000 : random.between(1, 4);
    for (let n = 0; n < count; n += 1) {
      const isBad = n < 4 && random.below(3) === 0;
      rows.set(`${object}-${n}`, isBad ? random.between(101, 900) : random.between(1, 100));
    }
    versions.push({ object, rows });
  }
  const kinds: FaultKind[] = ["fails", "lost", "crashes", "freezes"];
  const faults = Array.from({ length: random.between(1, 5) }, (): Fault => {
    const method = random.pick(FAULTY) ?? "commit";
    return { method, nth: random.between(1, 5), kind: random.pick(kinds) ?? "fails" };
  });
  return { versions, faults };
}

const rules = { max: MAX_AT_FIRST };

function pipelineOf(lease: "receipt" | "ledger"): Pipeline {
  const validate = (value: unknown) => {
    const row = value as { readonly id: string; readonly n: string };
    return Number(row.n) <= rules.max ? { value: row } : { issues: [{ message: "is too much" }] };
  };
  return pipeline({
    name: SCOPE.pipeline,
    source: { bucket: "files", queue: "work" },
    format: "csv",
    schema: { "~standard": { version: 1, vendor: "world", validate } },
    onBadRow: "quarantine",
    lease,
    sink: tables({ item: { existing: true, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const { id, n } of file.rows()) upsert("item", { id, n: Number(n) });
    },
  });
}

class World {
  readonly cloud: VirtualCloud;
  readonly ledger: Ledger;
  readonly tables: MemoryTables;
  readonly queue: Queue;
  readonly #pipeline: Pipeline;
  readonly #random: SeededRandom;
  readonly #faults: Fault[];
  readonly #calls = new Map<string, number>();
  readonly #consumers: Consumer[] = [];

  constructor(cloud: VirtualCloud, random: SeededRandom, faults: readonly Fault[]) {
    this.cloud = cloud;
    this.#random = random;
    this.#faults = [...faults];
    this.#pipeline = pipelineOf(random.below(2) === 0 ? "receipt" : "ledger");
    this.tables = createMemoryTables(this.#pipeline.sink as never);
    const { run, store } = this.tables;
    this.ledger = createMemoryLedger(
      { clock: cloud.clock },
      { writes: { dialect: "sqlite", run, store } },
    );
    this.queue = createBrokerQueue(cloud.broker, { queue: "work" });
  }

  async start(): Promise<void> {
    const statements = [
      "CREATE TABLE item (id TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n < 1000))",
      "CREATE TABLE audit (at INTEGER PRIMARY KEY, id TEXT, n INTEGER)",
      "CREATE TRIGGER added AFTER INSERT ON item BEGIN INSERT INTO audit (id, n) VALUES (new.id, new.n); END",
      "CREATE TRIGGER changed AFTER UPDATE ON item BEGIN INSERT INTO audit (id, n) VALUES (new.id, new.n); END",
      "CREATE TRIGGER removed AFTER DELETE ON item BEGIN INSERT INTO audit (id, n) VALUES (old.id, NULL); END",
    ];
    for (const statement of statements) await this.tables.store.run([{ statement, params: [] }]);
    await this.tables.sink.prepare();
    await this.#startConsumer();
  }

  /** No further faults. */
  heal(): void {
    this.#faults.length = 0;
  }

  async #startConsumer(): Promise<void> {
    const { cloud } = this;
    const { clock, objects } = cloud;
    const life = { started: false, dead: false, died: Promise.withResolvers<void>() };
    const ledger = this.#faulty(this.ledger, life);
    const queue = this.#faulty(this.queue, life);
    const { visibilityMs } = this.#pipeline;
    const ports = { queue, ledger, scope: SCOPE, clock, telemetry: SILENT };
    const renewer = createLeaseRenewer(ports, { visibilityMs, leaseMs: visibilityMs });
    const consumer = createConsumer(
      {
        clock,
        random: this.#random.fork(`consumer ${this.#consumers.length}`),
        turn: systemTurn,
        queue,
        deadLetters: null,
        ledger,
        renewer,
        objects,
        rows: createRowReader({ clock: systemClock, turn: systemTurn }),
        sink: this.tables.sink,
        telemetry: SILENT,
      },
      {
        pipeline: this.#timed(life.died.promise),
        owner: `consumer ${this.#consumers.length}`,
        runId: "world",
      },
    );
    this.#consumers.push(consumer);
    await consumer.start();
    life.started = true;
  }

  /** Time stands still while a handler runs, unless its process has crashed. */
  #timed(died: Promise<void>): Pipeline {
    const { clock } = this.cloud;
    return {
      ...this.#pipeline,
      handler: async (event, context) => {
        const limit = new AbortController();
        const handled = (async () => this.#pipeline.handler(event, context))();
        const waited = systemClock.sleep(HANDLER_REAL_MS, limit.signal).catch(() => undefined);
        clock.waitFor(Promise.race([handled, waited, died]).catch(() => undefined));
        await handled.finally(() => limit.abort());
      },
    };
  }

  /** The port of one process: its calls fail by plan. A dead process gets no answer. */
  #faulty<T extends object>(port: T, life: Life): T {
    return new Proxy(port, {
      get: (target, name) => {
        const member = Reflect.get(target, name);
        if (name === "sinkStore")
          return member && this.#faulty(member as unknown as SinkStore, life);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          const call = () => (member as (...args: unknown[]) => unknown).apply(target, args);
          const result = life.dead ? forever() : this.#inject(String(name), call, life);
          if (!(result instanceof Promise)) return result;
          return result.then((value) => (life.dead ? forever() : value));
        };
      },
    });
  }

  #inject(method: string, call: () => unknown, life: Life): unknown {
    const count = (this.#calls.get(method) ?? 0) + 1;
    this.#calls.set(method, count);
    const at = this.#faults.findIndex((fault) => fault.method === method && fault.nth <= count);
    if (at < 0 || !life.started) return call();
    const [fault] = this.#faults.splice(at, 1);
    return this.#carryOut(fault?.kind ?? "fails", call, life);
  }

  async #carryOut(kind: FaultKind, call: () => unknown, life: Life): Promise<unknown> {
    const unavailable = () => new TidegateError("TG_LEDGER_UNAVAILABLE", "an injected fault");
    if (kind === "fails") throw unavailable();
    if (kind === "freezes") {
      await this.cloud.clock.sleep(minutes(20)); // Longer than any lease.
      return await call();
    }
    if (kind === "lost" || this.#random.below(2) === 0) await call();
    if (kind === "lost") throw unavailable();
    life.dead = true;
    life.died.resolve();
    await this.#startConsumer();
    return forever();
  }

  async put({ object, rows }: Version): Promise<void> {
    const lines = [...rows].map(([id, n]) => `${id},${n}\n`);
    const target = { endpoint: this.cloud.endpoint, bucket: "files" };
    await putLocalObject(target, `${object}.csv`, `id,n\n${lines.join("")}`);
  }

  async rest(): Promise<void> {
    for (let at = 0; at < TURNS; at += 1) await afterRealTurns(() => false);
    await this.cloud.broker.idle();
  }

  async idle(): Promise<boolean> {
    const { clock } = this.cloud;
    const until = addMs(clock.now(), durationMs(IDLE_MS_MAX));
    for (let ms = 1_000; clock.now() < until; ms = Math.min(ms * 2, STEP_MS_MAX)) {
      await clock.advance(ms);
      await this.rest();
      const { visible, hidden, delayed } = await this.queue.facts();
      const busy = this.#consumers.at(-1)?.snapshot().inFlight ?? 0;
      if (visible + hidden + delayed + busy === 0) return true;
    }
    return false;
  }

  async sets(): Promise<QuarantinedSet[]> {
    const sets: QuarantinedSet[] = [];
    for await (const set of quarantinedSets(this.ledger, SCOPE)) sets.push(set);
    return sets;
  }

  async redrive(): Promise<void> {
    const { ledger, queue, cloud } = this;
    const ports = { clock: cloud.clock, random: this.#random.fork("redrive"), ledger, queue };
    const options = { followMs: durationMs(0) };
    for await (const _ of redriveSets(ports, SCOPE, await this.sets(), options));
  }

  async close(): Promise<void> {
    const stopped = Promise.all(this.#consumers.map((each) => each.stop()));
    await this.cloud.clock.advance(IDLE_MS_MAX);
    await Promise.race([stopped, this.rest()]);
    await this.cloud.close();
  }
}

interface Life {
  /** A process whose start fails is started again by its supervisor. */
  started: boolean;
  dead: boolean;
  readonly died: PromiseWithResolvers<void>;
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}

/** The violations of one seed, one sentence each. */
export async function runTablesSeed(seed: number): Promise<string[]> {
  const random = createSeededRandom(`tables ${seed}`);
  const { versions, faults } = planOf(random.fork("plan"));
  rules.max = MAX_AT_FIRST;
  const cloud = await startCloud({
    memory: true,
    clock: "virtual",
    setup: {
      queues: [{ name: "work" }],
      buckets: [
        { name: "files", notifications: [{ queue: "work", events: ["s3:ObjectCreated:*"] }] },
      ],
    },
  });
  const world = new World(cloud, random.fork("world"), faults);
  await world.start();
  try {
    return await check(world, versions);
  } finally {
    await world.close();
  }
}

async function check(world: World, versions: readonly Version[]): Promise<string[]> {
  const newest = new Map<string, Version>();
  for (const version of versions) {
    await world.put(version);
    newest.set(version.object, version);
    await world.cloud.clock.advance(1_000); // Sequencers follow the clock.
  }
  const problems: string[] = [];
  if (!(await world.idle())) problems.push("liveness: the queue is not empty after a day");
  const wanted = [...newest.values()].flatMap(({ rows }) => [...rows]);
  problems.push(
    ...(await tableProblems(
      world,
      wanted.filter(([, n]) => n <= MAX_AT_FIRST),
    )),
  );
  problems.push(...quarantineProblems(await world.sets(), newest));
  rules.max = 1_000;
  await world.redrive();
  if (!(await world.idle())) problems.push("liveness: redriven rows are not processed after a day");
  problems.push(...(await tableProblems(world, wanted)));
  const remaining = await world.sets();
  if (remaining.length > 0) problems.push(`quarantine: ${remaining.length} sets after a redrive`);
  return [...problems, ...(await leftoverProblems(world))];
}

/** W1, W3 */
async function tableProblems(
  { tables: { store } }: World,
  wanted: readonly (readonly [string, number])[],
): Promise<string[]> {
  const read = (statement: string) => store.read({ statement, params: [] });
  const actual = new Map((await read("SELECT id, n FROM item")).map(({ id, n }) => [id, n]));
  const missing = wanted.filter(([id, n]) => actual.get(id) !== n);
  const problems: string[] = [];
  if (missing.length > 0) problems.push(`rows: ${missing.length} missing, such as ${missing[0]}`);
  const extra = actual.size - (wanted.length - missing.filter(([id]) => !actual.has(id)).length);
  if (extra > 0) problems.push(`rows: ${extra} that no newest version has`);
  const last = new Map<unknown, unknown>();
  for (const { id, n } of await read("SELECT id, n FROM audit ORDER BY at")) {
    if (last.has(id) && last.get(id) === n) problems.push(`trigger: ${id} changed to ${n} twice`);
    last.set(id, n);
  }
  return problems;
}

/** W2 */
function quarantineProblems(
  sets: readonly QuarantinedSet[],
  newest: ReadonlyMap<string, Version>,
): string[] {
  const counts = new Map<string, number>();
  for (const { rows, facts } of sets) {
    for (const { row } of rows) {
      const name = `${facts.event.sequencer} ${row.id} ${row.n}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  const twice = [...counts].filter(([, count]) => count > 1);
  const stored = new Set([...counts.keys()].map((name) => name.slice(name.indexOf(" ") + 1)));
  const bad = [...newest.values()].flatMap(({ rows }) => [...rows]);
  const lost = bad.filter(([id, n]) => n > MAX_AT_FIRST && !stored.has(`${id} ${n}`));
  return [
    ...(twice.length > 0 ? [`quarantine: ${twice[0]?.[0]} twice`] : []),
    ...(lost.length > 0 ? [`quarantine: ${lost[0]} is lost`] : []),
  ];
}

/** W4 */
async function leftoverProblems({ tables: { sink, store }, cloud }: World): Promise<string[]> {
  await sink.sweepStages?.(store, addMs(cloud.clock.now(), days(1)));
  const statement = `SELECT name FROM sqlite_schema WHERE type = 'table'
    UNION ALL SELECT name FROM sqlite_temp_schema WHERE type = 'table' ORDER BY name`;
  const names = (await store.read({ statement, params: [] })).map(({ name }) => String(name));
  const own = /^(item|audit|_tg_item|_tg_item_others|tidegate_sink_\w+|sqlite_\w+)$/;
  const extra = names.filter((name) => !own.test(name));
  return extra.length === 0 ? [] : [`leftovers: ${extra.join(", ")}`];
}
