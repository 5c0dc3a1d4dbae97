// Lists of records that are not committed, in a ledger with more committed ones than a page of a
// list looks at.

import { join } from "node:path";
import { expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { anyInput } from "../support/stores/any-input.ts";
import { usePostgres } from "../support/stores/database-servers.ts";
import { turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const START = epochMs(1_700_000_000_000);
const SCOPE = { pipeline: "orders", generation: 1 };
const COMMITTED = 10_500;
const BATCH = 500;

const clock = createManualClock(START);
const folder = useTemporaryFolder("unsettled");
const postgres = await usePostgres();

const common = (n: number) => ({
  key: asRecordKey(`k1:${n}`),
  owner: "w",
  receivedAt: START,
  input: anyInput({ eventTime: epochMs(START + n) }),
});

async function expectOneUnsettled(ledger: Ledger): Promise<void> {
  for (let first = 0; first < COMMITTED; first += BATCH) {
    const commits = Array.from({ length: BATCH }, (_, n) => ({
      ...common(first + n),
      startedAt: START,
      digest: "d",
    }));
    await ledger.commitDirect(SCOPE, commits);
  }
  const failure = { errorClass: "schema", fingerprint: "f", message: "no" };
  await ledger.fail(SCOPE, [{ ...common(COMMITTED), fence: null, permanent: true, failure }]);
  for (const newestFirst of [false, true]) {
    const query = { by: "event-time", outcomes: ["claimed", "parked"], newestFirst } as const;
    const { records, next } = await ledger.listRecords(SCOPE, query, { after: null, limit: 5 });
    expect(records.map(({ key }) => key)).toEqual([`k1:${COMMITTED}`]);
    expect(next).toBeNull();
  }
  await ledger.close();
}

test("on SQLite, one page has all unsettled records, however many are committed", () =>
  expectOneUnsettled(createSqliteLedger({ clock, turn }, { path: join(folder, "ledger.db") })));

test.skipIf(!postgres.available)(
  "on PostgreSQL, one page has all unsettled records, however many are committed",
  async () => {
    await expectOneUnsettled(
      await createPostgresLedger({ clock }, { url: await postgres.freshUrl() }),
    );
  },
);
