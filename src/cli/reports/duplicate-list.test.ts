import { expect, test } from "vitest";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { anyInput } from "../../../test/support/stores/any-input.ts";
import { addMs, epochMs, seconds } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { duplicateLines, listDuplicates } from "./duplicate-list.ts";

const START = epochMs(1_700_000_000_000);
const SCOPE = { pipeline: "shop", generation: 0 };

test("records with the most duplicates come first, with the message of the latest one", async () => {
  const ledger = createMemoryLedger({ clock: createManualClock(START) });
  const note = (name: string, count: number, message: object, later = 0) => ({
    kind: "duplicates" as const,
    name,
    at: addMs(START, seconds(later)),
    count,
    body: JSON.stringify(message),
  });
  for (const name of ["a", "b"]) {
    const input = anyInput({ dedupeKey: `order-${name}`, messageId: `m-${name}` });
    const times = { receivedAt: START, startedAt: START };
    const record = { key: asRecordKey(name), owner: "w", ...times, input, digest: "d" };
    await ledger.commitDirect(SCOPE, [{ ...record, effects: "{}" }]);
  }
  await ledger.addNotes(SCOPE, [
    note("a", 1, { message_id: "m-a", receive_count: 2 }),
    note("b", 4, { message_id: "other", receive_count: 1 }, 1),
    note("gone", 2, {}),
  ]);
  const listed = await listDuplicates(ledger, SCOPE, 2);
  expect(listed.map(({ key, duplicates }) => [key, duplicates])).toEqual([
    ["b", 4],
    ["gone", 2],
  ]);
  const lines = (await listDuplicates(ledger, SCOPE, 10)).flatMap(duplicateLines);
  expect(lines).toEqual([
    "     4  order-b",
    "        the last at 2023-11-14T22:13:21.000Z: another message, other",
    "     2  gone",
    "        the last at 2023-11-14T22:13:20.000Z: of an unknown message",
    "     1  order-a",
    "        the last at 2023-11-14T22:13:20.000Z: its own message, receive 2",
  ]);
});
