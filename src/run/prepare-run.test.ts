import { expect, test } from "vitest";
import { pipeline, tables } from "../ingest/spec/define-pipeline.ts";
import { prepareRun } from "./prepare-run.ts";

const spec = { name: "p", source: { queue: "q" }, handler() {} };

test("retention comes from the setting, else from the pipeline file, else it is 45 days", () => {
  const retention = (file: object, settings: object) =>
    prepareRun("run", pipeline({ ...spec, ...file }), settings).pipeline.retention.ledgerDays;
  expect(retention({}, {})).toBe(45);
  expect(retention({ retention: { ledgerDays: 90 } }, {})).toBe(90);
  expect(retention({ retention: { ledgerDays: 90 } }, { ledgerRetentionDays: 7 })).toBe(7);
});

test("outbox retention comes from the setting, else from the pipeline file, else from producers", () => {
  const retention = (file: object, settings: object) =>
    prepareRun("run", pipeline({ ...spec, ...file }), settings).pipeline.retention.outboxDays;
  expect(retention({}, {})).toBeNull();
  expect(retention({ retention: { outboxDays: 90 } }, {})).toBe(90);
  expect(retention({ retention: { outboxDays: 90 } }, { outboxRetentionDays: 7 })).toBe(7);
});

test.each([0, 1.5, 3_651, "45"])("a retention of %j days is rejected", (days) => {
  const file = { ...spec, retention: { ledgerDays: days as number } };
  expect(() => pipeline(file)).toThrow("retention.ledgerDays must be 1 to 3650");
  const other = { ...spec, retention: { outboxDays: days as number } };
  expect(() => pipeline(other)).toThrow("retention.outboxDays must be 1 to 3650");
});

test("the ledger is in the data folder by default", () => {
  const { settings } = prepareRun("dev", pipeline(spec), { data: "d" });
  expect(settings).toMatchObject({ ledger: "sqlite:d/ledger.db", port: 4566, logLevel: "warn" });
});

test("a database for tables needs a sink of tables", () => {
  const settings = { tablesDatabase: "t.db" };
  const line = { columns: { id: "text" }, key: ["id"] } as const;
  const withTables = pipeline({ ...spec, sink: tables({ line }) });
  expect(prepareRun("run", withTables, settings).pipeline.sink).toMatchObject({ database: "t.db" });
  expect(() => prepareRun("run", pipeline(spec), settings)).toThrow("needs a pipeline whose sink");
});
