import { expect, test } from "vitest";
import { z } from "zod";
import type { CsvOptions } from "../../core/csv-format.ts";
import type { CreatedTableSpec } from "../../core/table-spec.ts";
import { diffContracts } from "../policy/contract-diff.ts";
import type { ArchiveSpec } from "./archive-fields.ts";
import { contractOf } from "./contract-of.ts";
import { pipeline, tables } from "./define-pipeline.ts";
import type { EventTimeSpec } from "./event-facts.ts";
import type { FrozenSpec } from "./frozen-values.ts";
import type { AnyOwnSource } from "./own-source.ts";
import type {
  BucketSource,
  ConcurrencySpec,
  PipelineSpec,
  QueueSource,
  RetentionSpec,
  RetrySpec,
  SourceSpec,
} from "./pipeline-spec.ts";

/** For each field one or more changes of a spec; a field without one does not compile. */
type Variants<S> = Readonly<Record<keyof Required<S>, readonly object[]>>;
type Sink = Parameters<typeof tables>[1] & { readonly tables: unknown };

const contract = (change: object) => contractOf(pipeline(change as never));
const sinkOf = (specs: object, options: object = {}) => ({
  sink: tables(specs as never, options),
});
const line: CreatedTableSpec = { key: ["id"], columns: { id: "text", n: "integer" } };
const objects = {
  name: "orders",
  source: { bucket: "shop" },
  handler: () => undefined,
  ...sinkOf({ line }),
};
const own = {
  name: "jobs",
  source: { queue: "jobs", key: ({ id }: { id: string }) => id },
  handler: () => undefined,
};
const late = { eventTime: { late: "hold" } };
const keyed = { concurrency: { key: () => "a" } };

const BUCKET: Variants<BucketSource> = {
  bucket: [{ source: { bucket: "store" } }],
  prefix: [{ source: { bucket: "shop", prefix: "in/" } }],
  queue: [
    { source: { bucket: "shop", queue: "a" } },
    { source: { bucket: "shop", queue: "a.fifo" } },
  ],
};
const RETRY: Variants<RetrySpec> = {
  attempts: [{ retry: { attempts: 3 } }],
  baseMs: [{ retry: { baseMs: 5 } }],
  capMs: [{ retry: { capMs: 5_000 } }],
  classify: [{ retry: { classify: () => undefined } }],
};
const CONCURRENCY: Variants<ConcurrencySpec<never>> = {
  total: [{ concurrency: 3 }, { concurrency: { total: 4 } }],
  perKey: [{ concurrency: { key: () => "a", perKey: 2 } }],
  key: [keyed, { concurrency: { key: () => "b" } }],
};
const EVENT_TIME: Variants<EventTimeSpec> = {
  of: [{ eventTime: { of: () => 1 } }, { eventTime: { of: () => 2 } }],
  partition: [{ eventTime: { partition: () => 1 } }],
  outOfOrderMs: [{ eventTime: { outOfOrderMs: 5 } }],
  allowedLatenessMs: [{ eventTime: { ...late.eventTime, allowedLatenessMs: 5 } }],
  late: [late, { eventTime: { late: { queue: "late" } } }],
};
const RETENTION: Variants<RetentionSpec> = {
  ledgerDays: [{ retention: { ledgerDays: 5 } }],
  outboxDays: [{ retention: { outboxDays: 5 } }],
};
const FROZEN: Variants<FrozenSpec> = {
  seed: [{ frozen: { seed: "a" } }],
  parameters: [{ frozen: { parameters: { rate: 2 } } }],
  models: [{ frozen: { models: { forecast: "2" } } }],
  lookups: [
    { frozen: { lookups: { zones: { a: 1 } } } },
    { frozen: { lookups: { zones: { a: 2 } } } },
  ],
};
const CSV: Variants<CsvOptions> = {
  delimiter: [{ csv: { delimiter: ";" } }],
  quote: [{ csv: { quote: "'" } }],
  encoding: [{ csv: { encoding: "latin1" } }],
  header: [{ csv: { header: ["a"] } }],
  skipLines: [{ csv: { skipLines: 1 } }],
  decimalComma: [{ csv: { decimalComma: ["a"] } }],
};
const SINK: Variants<Sink> = {
  tables: [sinkOf({ other: line }), sinkOf({ line: { ...line, key: ["n"] } })],
  database: [
    sinkOf({ line }, { database: "sqlite:a.db" }),
    sinkOf({ line }, { database: "postgres://u:secret@h/d" }),
  ],
  onReplaced: [sinkOf({ line }, { onReplaced: "keep" })],
};
const OF_OBJECTS: Variants<
  Omit<PipelineSpec<SourceSpec, unknown, Record<never, never>>, "archive">
> = {
  name: [{ name: "sales" }],
  source: Object.values(BUCKET).flat(),
  schema: [{ schema: z.object({ id: z.string() }) }],
  format: [{ format: "jsonl" }],
  csv: Object.values(CSV).flat(),
  retry: Object.values(RETRY).flat(),
  concurrency: Object.values(CONCURRENCY).flat(),
  timeoutMs: [{ timeoutMs: 5_000 }],
  sink: [{ sink: undefined }, { sink: () => undefined }, ...Object.values(SINK).flat()],
  mask: [{ mask: ["payload.person"] }],
  govern: [{ govern: () => "allow" }, { govern: () => "refuse" }],
  onMissing: [{ onMissing: "drop" }, { onMissing: "retry" }],
  onRemoved: [{ onRemoved: "delete-rows" }, { onRemoved: "handle" }],
  onBadRow: [{ onBadRow: "quarantine", schema: z.object({ id: z.string() }) }],
  onPoison: [{ onPoison: "skip" }],
  lease: [{ lease: "ledger" }, { lease: "receipt" }],
  generation: [{ generation: 1 }],
  visibilityMs: [{ visibilityMs: 5_000 }],
  eventTime: Object.values(EVENT_TIME).flat(),
  retention: Object.values(RETENTION).flat(),
  logCommits: [{ logCommits: 0.5 }],
  frozen: Object.values(FROZEN).flat(),
  handler: [{ handler: () => null }],
};

const source = (change: object) => ({ source: { ...own.source, ...change } });
const OWN: Variants<AnyOwnSource> = {
  queue: [source({ queue: "other" }), source({ queue: "jobs.fifo" })],
  schema: [source({ schema: z.object({ id: z.string() }) })],
  decode: [source({ decode: "text" }), source({ decode: (text: string) => ({ id: text }) })],
  key: [source({ key: "MessageId" }), source({ key: ({ id }: { id: string }) => `${id}.` })],
  eventTime: [source({ eventTime: () => 1 })],
  unwrapSns: [source({ unwrapSns: false })],
};
const ARCHIVE: Variants<ArchiveSpec> = {
  bucket: [{ archive: { bucket: "kept" } }],
  prefix: [{ archive: { bucket: "kept", prefix: "p/" } }],
};
const OF_QUEUES: Variants<QueueSource> = {
  queue: [{ source: { queue: "other" } }],
  contents: [
    { source: { queue: "jobs", contents: "messages" } },
    { source: { queue: "jobs", contents: "objects" } },
  ],
};

const CASES = [
  { title: "objects", base: objects, variants: OF_OBJECTS },
  { title: "own messages", base: own, variants: { ...OWN, ...ARCHIVE } },
  { title: "a queue", base: { ...own, source: { queue: "jobs" } }, variants: OF_QUEUES },
] as const;

test.each(CASES)(
  "every change of a field of $title changes the contract (O3)",
  ({ base, variants }) => {
    const contracts = new Map([[JSON.stringify(contract(base)), "the base"]]);
    for (const [field, changes] of Object.entries(variants) as [string, object[]][]) {
      for (const [index, change] of changes.entries()) {
        const after = contract({ ...base, ...change });
        if (field === "contents" && index === 0) {
          expect(after).toEqual(contract(base)); // The default, written out.
          continue;
        }
        const text = JSON.stringify(after);
        expect(contracts.get(text), `${field}, change ${index}`).toBeUndefined();
        contracts.set(text, `${field}, change ${index}`);
        expect(diffContracts(contract(base), after), field).not.toEqual([]);
        expect(diffContracts(after, after), field).toEqual([]);
      }
    }
  },
);

test("a contract is JSON: stored and read again, it is the same", () => {
  for (const { base, variants } of CASES) {
    for (const change of Object.values(variants).flat()) {
      const stored = contract({ ...base, ...change });
      expect(JSON.parse(JSON.stringify(stored))).toEqual(stored);
    }
  }
});

test("no password of a database is in a contract (O2)", () => {
  for (const database of ["postgres://u:secret@h/d?password=secret", "user=u password=secret"]) {
    const text = JSON.stringify(contract({ ...objects, ...sinkOf({ line }, { database }) }));
    expect(text).not.toContain("secret");
    expect(text).toMatch(/postgres:\/\/h\/d|another/);
  }
});

test("what a pipeline promises is in its contract, in words", () => {
  expect(contract(objects).delivery).toMatchObject({
    transport: "S3 events",
    order: "the newest version of an object wins",
    effects: "once, in the transaction of the ledger",
  });
  expect(contract({ ...own, ...source({ queue: "jobs.fifo" }) }).delivery).toMatchObject({
    transport: "own messages",
    queueType: "FIFO",
    order: "by message group",
    effects: "none",
  });
});
