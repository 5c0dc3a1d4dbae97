import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { epochMs } from "../../core/units.ts";
import { pipeline, tables } from "../../ingest/spec/define-pipeline.ts";
import { asRecordKey, fenceOf } from "../../ledger/record-state.ts";
import type { Effect, SinkFunction } from "../../ports/sink.ts";
import { openSink } from "./open-sink.ts";

const folder = useTemporaryFolder("sink");

const handler = () => {};
const source = { bucket: "files" };
const line = { line: { columns: { id: "text" }, key: ["id"] } } as const;
const sqlite = { store: "sqlite", path: join(folder, "ledger.db") } as const;
const dynamo = { store: "dynamodb", table: "t" } as const;

function withSink(sink: SinkFunction | ReturnType<typeof tables>, lease?: "receipt") {
  return pipeline({ name: "p", source, handler, sink, ...(lease && { lease }) });
}

describe("a sink and the ledger it is beside", () => {
  test("tables join the transaction of a ledger that is a database", async () => {
    const sink = await openSink(withSink(tables(line)), { sinkDialect: "sqlite" }, sqlite);
    expect(sink).toMatchObject({ mode: "transactional", dialect: "sqlite" });
    await sink?.close();
  });

  test("tables beside any other need a database of their own", async () => {
    const beside = { sinkDialect: null };
    await expect(openSink(withSink(tables(line)), beside, dynamo)).rejects.toMatchObject({
      code: "TG_CONFIG_INVALID",
      message: expect.stringContaining("a dynamodb ledger has none; set tablesDatabase"),
    });
    const database = join(folder, "own.db");
    const sink = await openSink(withSink(tables(line, { database })), beside, dynamo);
    expect(sink?.mode).toBe("idempotent");
    await sink?.close();
  });

  test("an idempotent sink rejects the receipt as a lease, because it needs a fence", async () => {
    const wrong = withSink(() => {}, "receipt");
    await expect(openSink(wrong, { sinkDialect: "sqlite" }, sqlite)).rejects.toThrow(
      "needs the fence of a claim",
    );
    const right = withSink(tables(line), "receipt");
    expect((await openSink(right, { sinkDialect: "sqlite" }, sqlite))?.mode).toBe("transactional");
  });

  test("a sink that cannot be prepared is closed", async () => {
    const database = join(folder, "other.db");
    const other = new DatabaseSync(database);
    other.exec("PRAGMA journal_mode = WAL; CREATE TABLE line (another TEXT)");
    other.close();
    const sink = openSink(withSink(tables(line, { database })), { sinkDialect: null }, dynamo);
    await expect(sink).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
    expect(existsSync(`${database}-wal`)).toBe(false); // Of no connection.
  });

  test("a pipeline without a sink has none", async () => {
    const none = pipeline({ name: "p", source, handler });
    expect(await openSink(none, { sinkDialect: null }, dynamo)).toBe(null);
  });
});

test("a function gets what was emitted, with key, fence and object, and nothing for no effects", async () => {
  const calls: unknown[] = [];
  const sink = await openSink(
    withSink((effects, { key, fence, object }) => void calls.push([effects, key, fence, object])),
    { sinkDialect: null },
    dynamo,
  );
  if (sink?.mode !== "idempotent") throw new Error("no idempotent sink");
  const object = { bucket: "files", key: "a", sequencer: "01", removed: false };
  const origin = { key: asRecordKey("k"), fence: fenceOf(7), eventTime: epochMs(0), object };
  const row: Effect = { kind: "upsert", table: "t", row: { id: "1" } };
  const { signal } = new AbortController();
  await sink.apply([{ kind: "custom", value: { any: "thing" } }, row], origin, signal);
  await sink.apply([], origin, signal);
  expect(calls).toEqual([[[{ any: "thing" }, row], "k", 7, { bucket: "files", key: "a" }]]);
  await sink.close();
  await expect(sink.apply([row], origin, signal)).rejects.toMatchObject({ code: "TG_CLOSED" });
});
