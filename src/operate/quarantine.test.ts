import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { type QuarantineFacts, quarantineNotes } from "../ingest/quarantine/quarantine.ts";
import { recordKey } from "../ledger/record-key.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { openOperator } from "./open-operator.ts";
import type { SourceOptions } from "./sources.ts";

const ROWS = [{ line: 1, unit: "line", reason: "bad", row: {} } as const];

/** A ledger with one quarantined set in each of these generations of the pipeline "p". */
async function ledgerWithSets(...generations: readonly number[]) {
  const clock = new ManualClock();
  const now = clock.now();
  const ledger = createMemoryLedger({ clock });
  for (const generation of generations) {
    const scope = { pipeline: "p", generation };
    const key = recordKey(scope, "a file");
    const facts: QuarantineFacts = {
      event: { bucket: "b", key: "k", sequencer: null } as unknown as QuarantineFacts["event"],
      shown: { bucket: "b", key: `of-${generation}` },
      queue: "q",
      group: null,
      mask: [],
      tries: 1,
    };
    const attempt = { owner: "test", startedAt: now };
    const { ref, notes } = quarantineNotes(key, ROWS, facts, { ...attempt, now });
    await ledger.addNotes(scope, notes);
    const effects = JSON.stringify({ quarantined: { set: ref.set, rows: ROWS.length } });
    const commit = { ...attempt, key, receivedAt: now, digest: "d", input: ANY_INPUT, effects };
    await ledger.commitDirect(scope, [commit]);
  }
  const listed = async (generation?: number, options: SourceOptions = {}) => {
    const { quarantine } = openOperator({ ledger, ...options });
    const sets = await Array.fromAsync(quarantine.list({ generation }));
    return sets.map(({ facts }) => facts.shown.key);
  };
  return { ledger, listed };
}

test.each<[string, SourceOptions]>([
  ["no pipeline", {}],
  ["a pipeline", { pipeline: "p" }],
  ["another generation", { pipeline: "p", generation: 0 }],
])("a drop acts on the generation that it names, if the operator names %s", async (_, options) => {
  const { ledger, listed } = await ledgerWithSets(0, 3, 4);
  const { quarantine } = openOperator({ ledger, ...options });
  expect(await listed(3, options)).toEqual(["of-3"]);
  expect(await quarantine.drop({ generation: 3 }).result()).toBe(1);
  expect(await listed()).toEqual(["of-0", "of-4"]);
  expect(await quarantine.redrive({ generation: 3 }).result()).toMatchObject({ sent: 0 });
});

test("a drop of a generation without a set drops nothing", async () => {
  const { ledger, listed } = await ledgerWithSets(0);
  const { quarantine } = openOperator({ ledger, pipeline: "p" });
  expect(await quarantine.drop({ generation: 3 }).result()).toBe(0);
  expect(await listed()).toEqual(["of-0"]);
});
