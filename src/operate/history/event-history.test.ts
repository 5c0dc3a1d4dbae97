import { beforeEach, expect, test } from "vitest";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { ANY_INPUT, anyInput } from "../../../test/support/stores/any-input.ts";
import { epochMs, seconds } from "../../core/units.ts";
import { type Dossier, encodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { recordKey } from "../../ledger/record-key.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Ledger } from "../../ports/ledger.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { openOperator } from "../open-operator.ts";
import { describeHistory } from "./describe-history.ts";
import { findHistories } from "./event-history.ts";

const START = epochMs(1_700_000_000_000);
const scope = { pipeline: "stations", generation: 0 };
const identity = `k1:${"a".repeat(64)}`;
const good = recordKey(scope, identity);
const version = { versionId: "v1", etag: "e1", size: 12, sequencer: "01" };
const INPUT = anyInput({
  kind: "object",
  source: null,
  dedupeKey: null,
  eventTime: START,
  sentAt: START,
  traceId: "t1",
  partition: "stations",
  object: { bucket: "stations", key: "in/a b.csv", ...version },
  lane: { lane: "late", watermark: START },
});
const bad = recordKey(scope, `k1:${"b".repeat(64)}`);

let ledger: Ledger;
beforeEach(async () => {
  ledger = createMemoryLedger({ clock: createManualClock(START) });
  const object = { bucket: "stations", key: "in/a b.csv", sequencer: "01" };
  const lease = { owner: "w1", leaseMs: seconds(30) };
  const [claim] = await ledger.claim(
    scope,
    [{ key: good, input: INPUT, receivedAt: START, object }],
    lease,
  );
  if (claim?.kind !== "claimed") throw new Error("not claimed");
  const effects = JSON.stringify({
    effects: { "upsert observation": 24, "upsert station_day": 1 },
    tookMs: 12,
  });
  await ledger.commit(scope, [{ key: good, fence: claim.fence, digest: "d", effects, object }]);
  const note = { kind: "duplicates", name: good, at: START, count: 3, body: "{}" } as const;
  await ledger.addNotes(scope, [note]);
  await ledger.putRun(scope, {
    id: INPUT.runId,
    kind: "live",
    startedAt: START,
    endedAt: null,
    seenAt: START,
    codeDigest: "c0de",
    configDigest: "c0f1",
    environment: "{}",
    parameters: "{}",
    counts: "{}",
  });
  await park();
});

async function park(): Promise<void> {
  const failure = { errorClass: "schema", fingerprint: "f00", message: "row 3 breaks the schema" };
  const dossier: Dossier = {
    ...scope,
    record_key: bad,
    idempotency_key: "k1:b",
    queue: "stations-events",
    message_id: "m1",
    group_id: null,
    object: { bucket: "stations", key: "in/broken.csv" },
    error_class: failure.errorClass,
    fingerprint: failure.fingerprint,
    message: failure.message,
    stack: null,
    attempts: 1,
    receive_count: 1,
    event_time: START,
    first_failed_at: START,
    last_failed_at: START,
    took_ms: 5,
    run_id: "r",
    trace_id: null,
    payload: null,
    dead_letter: { queue: "stations-dead-letters", message_id: "d1", sent_at: START, fence: 1 },
  };
  await ledger.fail(scope, [
    {
      key: bad,
      fence: null,
      owner: "w1",
      input: ANY_INPUT,
      receivedAt: START,
      permanent: true,
      failure,
      note: { kind: "dossier", name: bad, at: START, count: 1, body: encodeDossier(dossier) },
    },
  ]);
}

test("a committed object is found by its URL, with lane, effects and duplicates", async () => {
  const what = "s3://stations/in/a b.csv";
  const [history, ...others] = await findHistories(ledger, [scope], { what });
  expect(others).toEqual([]);
  expect(history).toMatchObject({
    ...scope,
    key: good,
    state: "committed",
    attempts: 1,
    lane: "late",
    tookMs: 12,
    effects: { "upsert observation": 24, "upsert station_day": 1 },
    duplicates: { count: 3, lastAt: START },
    dossier: null,
  });
  const fence = history?.fence;
  expect(history === undefined ? [] : describeHistory(history, what)).toEqual([
    "s3://stations/in/a b.csv in pipeline stations, generation 0",
    `  key         ${good}`,
    "  outcome     committed, in 12 ms",
    "  deliveries  1 attempted, 3 suppressed as duplicates",
    `  attempts    1, fence ${fence}`,
    "  input       object, version v1, ETag e1, 12 bytes, sequencer 01",
    "  event id    event-1",
    '  event time  2023-11-14T22:13:20.000Z, partition "stations"',
    "  message     message-1, sent 2023-11-14T22:13:20.000Z",
    "  trace       t1",
    "  lane        late, at watermark 2023-11-14T22:13:20.000Z",
    "  effects     upsert observation × 24, upsert station_day × 1",
    "  digest      d",
    "  run         run-1, live, started 2023-11-14T22:13:20.000Z, no end, last seen 2023-11-14T22:13:20.000Z",
    "  code        c0de",
    "  config      c0f1",
    "  duplicates  3 suppressed, the last at 2023-11-14T22:13:20.000Z",
    "  first seen  2023-11-14T22:13:20.000Z, kept until 2023-12-29T22:13:20.000Z",
    "",
    `  2023-11-14T22:13:20.000Z  received    fence ${fence}`,
    `  2023-11-14T22:13:20.000Z  started     fence ${fence} by w1`,
    `  2023-11-14T22:13:20.000Z  succeeded   fence ${fence}`,
  ]);
});

test("a dead-lettered object is found by its dossier, with the dead letter", async () => {
  const [history] = await findHistories(ledger, [scope], {
    what: "in/broken.csv",
    bucket: "stations",
  });
  const lines = history === undefined ? [] : describeHistory(history, "in/broken.csv");
  expect(lines[0]).toBe("s3://stations/in/broken.csv in pipeline stations, generation 0");
  expect(lines).toContain("  outcome     dead-lettered: schema: row 3 breaks the schema");
  expect(lines).toContain(
    "  dead letter in stations-dead-letters since 2023-11-14T22:13:20.000Z, message d1",
  );
  expect(lines.at(-1)).toContain("failed      fence");
});

test.each([
  ["a bare key with a bucket", { what: "in/a b.csv", bucket: "stations" }, 1],
  ["a bare key whose bucket is in a dossier", { what: "in/broken.csv" }, 1],
  ["a record key", { what: good }, 1],
  ["an idempotency key", { what: identity }, 1],
  ["an object of another bucket", { what: "s3://other/in/a b.csv" }, 0],
  ["an unknown object", { what: "s3://stations/none" }, 0],
])("%s finds the matching histories", async (_, query, count) => {
  expect(await findHistories(ledger, [scope], query)).toHaveLength(count);
});

test.each([
  ["of all pipelines", {}, 1],
  ["of another pipeline", { pipeline: "orders" }, 0],
  ["of another generation", { generation: 1 }, 0],
])("an operator %s finds the histories of its scope", async (_, options, count) => {
  await using operator = openOperator({ ledger, ...options });
  expect(await operator.history.find(good)).toHaveLength(count);
});

test("a record in progress shows its owner, and a failed one that it will be retried", async () => {
  const key = asRecordKey("k1:work");
  const lease = { owner: "w2", leaseMs: seconds(30) };
  const [claim] = await ledger.claim(scope, [{ key, input: ANY_INPUT, receivedAt: START }], lease);
  const outcome = async () => {
    const [history] = await findHistories(ledger, [scope], { what: key });
    return history === undefined ? "" : describeHistory(history, key)[2];
  };
  expect(await outcome()).toContain("in progress, claimed by w2 until 2023-11-14T22:13:50.000Z");
  const fence = claim?.kind === "claimed" ? claim.fence : fenceOf(0);
  const failure = { errorClass: "network", fingerprint: "f", message: "no answer" };
  const attempt = {
    key,
    fence,
    owner: "w2",
    input: ANY_INPUT,
    receivedAt: START,
    permanent: false,
    failure,
  };
  await ledger.fail(scope, [attempt]);
  expect(await outcome()).toContain("failed, will be retried");
});
