import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger, Note } from "../../ports/ledger.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { type QuarantineFacts, quarantineNotes } from "./quarantine.ts";
import { quarantinedSets } from "./quarantine-access.ts";

const SCOPE = { pipeline: "p", generation: 0 };
const OF = asRecordKey("k1:file");
const NOW = epochMs(1_700_000_000_000);
const LARGE = "x".repeat(60_000);
const ROWS = Array.from({ length: 12 }, (_, at) => {
  return { line: at + 1, unit: "line", reason: "bad", row: { text: LARGE } } as const;
});
const FACTS = {
  event: { bucket: "b", key: "k", sequencer: null } as unknown as QuarantineFacts["event"],
  shown: { bucket: "b", key: "k" },
  queue: "q",
  group: null,
  mask: [],
  tries: 1,
};

/** A ledger with one committed set of several notes. */
async function ledgerWithSet() {
  const attempt = { owner: "o", startedAt: NOW, now: NOW };
  const { ref, notes } = quarantineNotes(OF, ROWS, FACTS, attempt);
  const ledger = createMemoryLedger(systemPorts, {});
  for (const note of notes) await ledger.addNotes(SCOPE, [note]);
  const effects = JSON.stringify({ quarantined: { set: ref.set, rows: ROWS.length } });
  const record = { kind: "committed", superseded: false, effects };
  const show = async (_: unknown, key: string) => (key === OF ? { record } : undefined);
  return { ref, ledger: { ...ledger, show } as unknown as Ledger };
}

async function setsIn(ledger: Ledger) {
  const sets: { chunks: number; rows: number }[] = [];
  for await (const { ref, rows } of quarantinedSets(ledger, SCOPE)) {
    sets.push({ chunks: ref.chunks, rows: rows.length });
  }
  return sets;
}

test("a set whose last note is missing from the list is read whole (A4)", async () => {
  const { ref, ledger } = await ledgerWithSet();
  expect(ref.chunks).toBeGreaterThan(1);
  const whole = [{ chunks: ref.chunks, rows: ROWS.length }];
  expect(await setsIn(ledger)).toEqual(whole);
  const lagging: Ledger = {
    ...ledger,
    listNotes: async (...given) => (await ledger.listNotes(...given)).slice(0, -1),
  };
  expect(await setsIn(lagging)).toEqual(whole);
});

test("a set behind 100,000 other notes is listed whole", async () => {
  const { ref, ledger } = await ledgerWithSet();
  let listed = 0;
  const crowded: Ledger = {
    ...ledger,
    async listNotes(scope, kind, { after, limit }) {
      // The set starts at the last note within 100,000.
      const limited = Math.min(limit, 99_999 - listed);
      const others = Array.from({ length: Math.max(limited, 0) }, (_, index): Note => {
        const name = `k1:aaa/other/${String(listed + index)}`;
        return { kind, name, at: NOW, count: 1, body: "{}" };
      });
      listed += others.length;
      if (others.length === limit) return others;
      const isOther = after?.startsWith("k1:aaa") !== false;
      const rest = { after: isOther ? null : after, limit: limit - others.length };
      return [...others, ...(await ledger.listNotes(scope, kind, rest))];
    },
  };
  expect(await setsIn(crowded)).toEqual([{ chunks: ref.chunks, rows: ROWS.length }]);
});
