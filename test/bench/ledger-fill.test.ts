// The fill of the ledger's benchmark: what it writes is what the ledger writes.

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type FilledRecords, fillPostgres, fillSqlite } from "../../bench/ledger/fill.ts";
import { recordOf } from "../../bench/ledger/lists.ts";
import { present } from "../../src/core/assert.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { usePostgres } from "../support/stores/database-servers.ts";
import { systemClock as clock, turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("ledger-fill");
const { available, freshUrl } = await usePostgres();
const SCOPE = { pipeline: "bench", generation: 1 };
const SIZE = 300;
const RECORDS = Array.from({ length: SIZE }, (_, n) => recordOf(n));

interface Filling {
  open(): Promise<Ledger>;
  fill(records: FilledRecords): Promise<void> | void;
}

/** Everything that the ledger answers about its records. */
async function answersOf(ledger: Ledger) {
  const page = { after: null, limit: SIZE };
  const listed = await ledger.listRecords(SCOPE, { by: "event-time" }, page);
  const prefix = { by: "object", bucket: "in", prefix: "day-200/" } as const;
  const ofPrefix = await ledger.listRecords(SCOPE, prefix, page);
  const committed = await ledger.listRecords(SCOPE, { by: "commit-time" }, page);
  const shown = await Promise.all(RECORDS.map(({ key }) => ledger.show(SCOPE, key)));
  const again = await ledger.commitDirect(SCOPE, RECORDS);
  return { listed, ofPrefix, committed, shown, again };
}

async function expectSame(written: Ledger, filling: Filling): Promise<void> {
  for (const { kind } of await written.commitDirect(SCOPE, RECORDS)) expect(kind).toBe("committed");
  const expected = await answersOf(written);
  await written.close();
  // The calls of one batch are committed at one instant.
  const at = present(expected.shown[0], "the first record").record.changedAt;
  await (await filling.open()).close();
  await filling.fill({ size: SIZE, recordOf, committedAt: () => at });
  const filled = await filling.open();
  expect(await answersOf(filled)).toEqual(expected);
  expect(expected.listed.records).toHaveLength(SIZE);
  expect(new Set(expected.again.map(({ kind }) => kind))).toEqual(new Set(["duplicate"]));
  await filled.close();
}

test("a record that was filled into SQLite reads like one that the ledger wrote", async () => {
  const open = (name: string) =>
    createSqliteLedger({ clock, turn }, { path: join(folder, `${name}.db`) });
  await expectSame(open("written"), {
    open: async () => open("filled"),
    fill: (records) => fillSqlite(join(folder, "filled.db"), SCOPE, records),
  });
});

describe.skipIf(!available)("PostgreSQL", () => {
  test("a record that was filled into it reads like one that the ledger wrote", async () => {
    const [written, filled] = [await freshUrl(), await freshUrl()];
    const open = (url: string) => createPostgresLedger({ clock }, { url });
    await expectSame(await open(written), {
      open: () => open(filled),
      fill: (records) => fillPostgres(filled, SCOPE, records),
    });
  });
});
