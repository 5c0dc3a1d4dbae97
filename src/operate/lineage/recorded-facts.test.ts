import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { addMs, durationMs, epochMs } from "../../core/units.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { outputLocations } from "../../lineage/recorded/output-locations.ts";
import { RECORDS_MAX } from "../../lineage/recorded/recorded-run.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { RecordInput } from "../../ports/record.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { factsOfOutput, newestRuns } from "./recorded-facts.ts";

const SCOPE = { pipeline: "p", generation: 0 };

test("a table with too many records is refused, with what to ask for instead", async () => {
  const clock = new ManualClock();
  const memory = createMemoryLedger({ clock });
  const now = clock.now();
  const input: RecordInput = {
    kind: "own",
    eventId: null,
    object: null,
    source: "queue",
    dedupeKey: null,
    eventTime: epochMs(0),
    sentAt: now,
    messageId: "m",
    traceId: null,
    runId: "run",
    partition: "",
    lane: { lane: "live", watermark: null },
  };
  const key = recordKey(SCOPE, "one");
  const effects = JSON.stringify({ effects: { "upsert orders": 1 } });
  const times = { receivedAt: now, startedAt: now };
  await memory.commitDirect(SCOPE, [{ key, owner: "o", ...times, input, digest: "d", effects }]);
  const page = await memory.listRecords(SCOPE, { by: "commit-time" }, { after: null, limit: 1 });
  const records = Array.from({ length: RECORDS_MAX + 1 }, () => page.records).flat();
  const ledger: Ledger = { ...memory, listRecords: async () => ({ records, next: null }) };
  await expect(
    factsOfOutput(ledger, SCOPE, "orders", outputLocations(null, "memory:")),
  ).rejects.toThrow(
    "the table orders has more than 100000 records, too many for one document; " +
      "name one row, orders:KEY, or one run",
  );
});

test("the newest runs come first, whatever their generations", async () => {
  const clock = new ManualClock();
  const ledger = createMemoryLedger({ clock });
  const scopes = [0, 1, 2].map((generation) => ({ pipeline: "p", generation }));
  for (const [at, generation] of [0, 2, 1, 0].entries()) {
    const startedAt = addMs(clock.now(), durationMs(at));
    await ledger.putRun(
      { pipeline: "p", generation },
      {
        id: `run-${at}`,
        kind: generation === 0 ? "live" : "replay",
        startedAt,
        endedAt: null,
        seenAt: startedAt,
        codeDigest: "c",
        configDigest: "d",
        environment: "{}",
        parameters: "{}",
        counts: "{}",
      },
    );
  }
  const ids = async (limit: number) =>
    (await newestRuns(ledger, scopes, limit)).map(({ row }) => row.id);
  expect(await ids(10)).toEqual(["run-3", "run-2", "run-1", "run-0"]);
  expect(await ids(2)).toEqual(["run-3", "run-2"]);
});
