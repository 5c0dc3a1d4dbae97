import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as sink from "../../src/sinks/table/databases/postgres-database.ts";
import { DYNAMODB_REQUEST_MS_MAX, SDK_ATTEMPTS_MAX } from "../../src/stores/dynamodb/open-table.ts";
import { STATEMENT_MS_MAX, UPKEEP_MS_MAX } from "../../src/stores/postgres/time-limits.ts";
import { rowsOf } from "../support/markdown-table.ts";

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/library.md"), "utf8");

const describe = (ms: number) =>
  ms % 60_000 === 0 ? `${ms / 60_000} minutes` : `${ms / 1000} seconds`;

test("the library page lists the timeouts of stores", () => {
  const rows = rowsOf(page, "waiting for");
  expect(rows.map(([, limit]) => limit)).toEqual(
    [
      ...[STATEMENT_MS_MAX, UPKEEP_MS_MAX, sink.SINK_STATEMENT_MS_MAX, sink.LAYOUT_MS_MAX],
      DYNAMODB_REQUEST_MS_MAX,
    ].map(describe),
  );
  expect(rows.at(-1)?.[0]).toContain(`of up to ${SDK_ATTEMPTS_MAX}`);
});
