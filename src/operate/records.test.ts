import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { anyInput } from "../../test/support/stores/any-input.ts";
import { duplicateLines, recordJson, recordLines } from "../cli/print/record-text.ts";
import { addMs, days, epochMs, seconds } from "../core/units.ts";
import { pipeline } from "../ingest/spec/define-pipeline.ts";
import { asRecordKey } from "../ledger/record-state.ts";
import type { RecordInput } from "../ports/record.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { openOperator } from "./open-operator.ts";
import type { RecordSelection } from "./records.ts";
import type { SourceOptions } from "./sources.ts";

const START = epochMs(1_700_000_000_000);
const SCOPE = { pipeline: "shop", generation: 0 };

const shop = pipeline({ name: "shop", source: { bucket: "shop" }, handler: () => {} });

function objectOf(key: string): Partial<RecordInput> {
  const version = { versionId: null, etag: "e", size: 3, sequencer: "01" };
  return { kind: "object", dedupeKey: null, object: { bucket: "shop", key, ...version } };
}

async function filled() {
  const clock = createManualClock(START);
  const ledger = createMemoryLedger({ clock });
  const commit = (name: string, input: Partial<RecordInput>, rows: number) =>
    ledger.commitDirect(SCOPE, [
      {
        key: asRecordKey(name),
        owner: "w",
        receivedAt: START,
        startedAt: START,
        input: anyInput({ eventTime: START, ...input }),
        digest: "d",
        effects: JSON.stringify({ effects: { "upsert orders": rows, "delete orders": 1 } }),
      },
    ]);
  await commit("monday", objectOf("in/monday.csv"), 2);
  await commit("message", { dedupeKey: "orders-7", eventTime: addMs(START, seconds(1)) }, 0);
  await commit("old", { ...objectOf("old/1.csv"), eventTime: addMs(START, days(-2)) }, 9);
  const failure = { errorClass: "order", fingerprint: "f", message: "not an order" };
  const attempt = { key: asRecordKey("bad"), fence: null, owner: "w", receivedAt: START };
  const input = anyInput({ ...objectOf("in/bad.csv"), eventTime: START });
  await ledger.fail(SCOPE, [{ ...attempt, input, permanent: true, failure }]);
  return ledger;
}

test("a list has times, outcome, rows, attempts, lane and name", async () => {
  const ledger = await filled();
  const { records } = openOperator({ ledger });
  const { records: listed, more } = await records.list({ since: START });
  expect(recordLines(listed)).toEqual([
    "EVENT TIME                CHANGED                   OUTCOME        ROWS  ATTEMPTS  LANE  NAME",
    "2023-11-14T22:13:20.000Z  2023-11-14T22:13:20.000Z  dead-lettered  -     1         live  s3://shop/in/bad.csv",
    "2023-11-14T22:13:20.000Z  2023-11-14T22:13:20.000Z  committed      3     1         live  s3://shop/in/monday.csv",
    "2023-11-14T22:13:21.000Z  2023-11-14T22:13:20.000Z  committed      1     1         live  orders-7",
  ]);
  expect(more).toBe(false);
});

test("prefix, outcome, time and limit select", async () => {
  const ledger = await filled();
  const names = async (selection: RecordSelection, options: SourceOptions = {}) => {
    const { records } = await openOperator({ ledger, ...options }).records.list(selection);
    return records.map(({ key }) => key as string);
  };
  expect(await names({ prefix: "s3://shop/in/" })).toEqual(["bad", "monday"]);
  expect(await names({ prefix: "in/" }, { pipeline: shop })).toEqual(["bad", "monday"]);
  expect(await names({ prefix: "s3://shop", by: "event-time" })).toEqual(["old", "bad", "monday"]);
  expect(await names({ outcome: "dead-lettered" })).toEqual(["bad"]);
  expect(await names({ until: START })).toEqual(["old"]);
  expect(await names({}, { pipeline: "other" })).toEqual([]);
  expect(await names({}, { generation: 3 })).toEqual([]);
  await expect(names({ prefix: "in/" })).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  const { records, more } = await openOperator({ ledger }).records.list({}, { limit: 2 });
  expect([records.length, more]).toEqual([2, true]);
});

test("a JSON line has the input, the content hash and the run with its digests", async () => {
  const ledger = await filled();
  const run = {
    id: "run-1",
    kind: "live",
    startedAt: START,
    endedAt: null,
    seenAt: START,
    codeDigest: "c0de",
    configDigest: "c0f1",
    environment: "{}",
    parameters: "{}",
    counts: "{}",
  } as const;
  await ledger.putRun(SCOPE, run);
  const { records } = openOperator({ ledger });
  const { records: listed } = await records.list({ prefix: "s3://shop/in/mon" }, { runs: true });
  expect(listed.map(recordJson).map((line) => JSON.parse(line))).toMatchObject([
    {
      pipeline: "shop",
      outcome: "committed",
      rows: 3,
      digest: "d",
      input: { eventId: "event-1", object: { etag: "e" }, runId: "run-1" },
      run,
    },
  ]);
});

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
  const { records } = openOperator({ ledger, ...SCOPE });
  const listed = await records.duplicates({ limit: 2 });
  expect(listed.map(({ key, duplicates }) => [key, duplicates])).toEqual([
    ["b", 4],
    ["gone", 2],
  ]);
  const lines = (await records.duplicates()).flatMap(duplicateLines);
  expect(lines).toEqual([
    "     4  order-b",
    "        the last at 2023-11-14T22:13:21.000Z: another message, other",
    "     2  gone",
    "        the last at 2023-11-14T22:13:20.000Z: of an unknown message",
    "     1  order-a",
    "        the last at 2023-11-14T22:13:20.000Z: its own message, receive 2",
  ]);
});
