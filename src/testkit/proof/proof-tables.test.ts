import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import { tables } from "../../ingest/spec/define-pipeline.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Effect, EffectOrigin } from "../../ports/sink.ts";
import { ProofTables } from "./proof-tables.ts";

const SPEC = tables({ order: { columns: { id: "text", sum: "real" }, key: ["id"] } });
const origin = (key: string, object: string | null = null): EffectOrigin => ({
  key: asRecordKey(key),
  eventTime: epochMs(0),
  object: object === null ? null : { bucket: "b", key: object, sequencer: "1", removed: false },
});
const row = (id: string, sum: number): Effect => ({
  kind: "upsert",
  table: "order",
  row: { id, sum },
});

function apply(sink: ProofTables, effects: Effect[], from: EffectOrigin): void {
  sink.run(sink.transactional().plan(effects, from));
}

test("a row with the same key replaces the previous one, and can be deleted", () => {
  const sink = new ProofTables(SPEC);
  apply(sink, [row("a", 1), row("b", 2)], origin("k1"));
  apply(sink, [row("a", 3), { kind: "delete", table: "order", key: { id: "b" } }], origin("k2"));
  expect(JSON.parse(sink.snapshot()).tables).toEqual({ order: [{ id: "a", sum: 3 }] });
});

test("rows of an object replace those of its previous version (T1)", () => {
  const sink = new ProofTables(SPEC);
  apply(sink, [row("a", 1), row("b", 2)], origin("k1", "file"));
  apply(sink, [row("c", 3)], origin("k2", "file"));
  expect(JSON.parse(sink.snapshot()).tables).toEqual({ order: [{ id: "c", sum: 3 }] });
});

test("an idempotent sink ignores effects under an older fence (T2)", async () => {
  const sink = new ProofTables(null);
  const applyCustom = (value: string, fence: number) =>
    sink
      .idempotent()
      .apply(
        [{ kind: "custom", value }],
        { ...origin("k1"), fence: fenceOf(fence) },
        new AbortController().signal,
      );
  await applyCustom("first", 1);
  await applyCustom("second", 2);
  await applyCustom("late", 1);
  expect(JSON.parse(sink.snapshot()).emitted).toEqual([{ key: "k1", values: ["second"] }]);
});

test("the snapshot does not depend on the order of rows", () => {
  const [one, two] = [new ProofTables(SPEC), new ProofTables(SPEC)];
  apply(one, [row("a", 1), row("b", 2)], origin("k1"));
  apply(two, [row("b", 2), row("a", 1)], origin("k1"));
  expect(one.snapshot()).toBe(two.snapshot());
});
