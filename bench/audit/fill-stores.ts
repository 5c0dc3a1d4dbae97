// Fill stores: a bucket, a ledger and a register of writers with one entry for each object.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openCloud } from "../../src/cloud/open-cloud.ts";
import { eventKey } from "../../src/core/events/object-identity.ts";
import { recordKey } from "../../src/ledger/record-key.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { createTableSink } from "../../src/sinks/table/index.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { BUCKET, SCOPE, SINK } from "./subject.ts";

const ORIGIN = {
  requestId: "R",
  hostId: "H",
  sourceIp: "127.0.0.1",
  url: "http://localhost",
  principalId: "AWS:X",
  ownerId: "A",
  eventVersion: "2.6",
  eventBridgeQueue: null,
};
const DETAIL = JSON.stringify({ headers: {}, metadata: {}, checksum: null, tags: {} });
const BATCH = 1_000;
const SIZE = 1;

const keyOf = (nth: number) =>
  `in/${String(nth % 365).padStart(3, "0")}/${String(nth).padStart(9, "0")}.csv`;
const etagOf = (nth: number) => nth.toString(16).padStart(32, "0");
const sequencerOf = (nth: number) => (0x10_0000_0000 + nth).toString(16).toUpperCase();

export async function fillStores(folder: string, objects: number): Promise<void> {
  const cloud = await openCloud({ data: join(folder, "data") });
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger(systemPorts, { path });
  const sink = createTableSink(SINK, { dialect: "sqlite", path });
  await sink.prepare();
  const bucket = { bucket: BUCKET, region: "us-east-1", tags: null };
  await cloud.engine.submit("createBucket", bucket);
  for (let from = 0; from < objects; from += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, objects - from) }, (_, at) => from + at);
    await Promise.all(some.map((nth) => put(cloud.engine, nth)));
    await ledger.commitDirect(SCOPE, some.map(commitOf));
  }
  await ledger.close();
  await cloud.close();
  register(path, objects);
}

function put(broker: Awaited<ReturnType<typeof openCloud>>["engine"], nth: number) {
  return broker.submit("putObject", {
    bucket: BUCKET,
    key: keyOf(nth),
    event: "Put",
    pieces: [{ blob: `blob-${nth}`, sizeBytes: SIZE }],
    etag: etagOf(nth),
    storageClass: "STANDARD",
    detail: DETAIL,
    conditions: { ifMatch: null, ifAbsent: false },
    origin: ORIGIN,
  });
}

function recordOf(nth: number) {
  const identity = eventKey({
    kind: "created",
    event_name: "ObjectCreated:Put",
    bucket: BUCKET,
    key: keyOf(nth),
    version_id: null,
    etag: null,
    size: null,
    sequencer: sequencerOf(nth),
    request_id: null,
    event_time: "",
  });
  return recordKey(SCOPE, identity);
}

function commitOf(nth: number) {
  const at = systemPorts.clock.now();
  const object = { bucket: BUCKET, key: keyOf(nth), sequencer: sequencerOf(nth) };
  return {
    key: recordOf(nth),
    owner: "bench",
    receivedAt: at,
    startedAt: at,
    digest: "d".repeat(64),
    object: { ...object, state: `e:${SIZE}:${etagOf(nth)}` },
    input: {
      kind: "object" as const,
      eventId: "e",
      object: { ...object, versionId: null, etag: etagOf(nth), size: SIZE },
      source: null,
      dedupeKey: null,
      eventTime: at,
      sentAt: at,
      messageId: `m-${nth}`,
      traceId: null,
      runId: "run",
      partition: BUCKET,
      lane: { lane: "live" as const, watermark: null },
    },
  };
}

/** The rows that the sink writes at each commit, all at once. */
function register(path: string, objects: number): void {
  const db = new DatabaseSync(path);
  const columns = "table_name, object, sequencer, event_time, record_key, fence";
  const insert = db.prepare(
    `INSERT INTO tidegate_sink_writers (${columns}) VALUES ('rows', ?, ?, ?, ?, 1)`,
  );
  const at = Date.now();
  db.exec("BEGIN");
  for (let nth = 0; nth < objects; nth += 1) {
    insert.run(`s3://${BUCKET}/${keyOf(nth)}`, sequencerOf(nth), at, recordOf(nth));
  }
  db.exec("COMMIT");
  db.close();
}
