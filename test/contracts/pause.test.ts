// A pause is a note, and holds in every store until a resume.

import { join } from "node:path";
import { expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import { endPause, findPause, setPause } from "../../src/ingest/running/pause.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import { createDynamoLedger } from "../../src/stores/dynamodb/ledger.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { useDynamo, usePostgres } from "../support/stores/database-servers.ts";
import { random, turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const SCOPE = { pipeline: "orders", generation: 1 };
const clock = createManualClock(epochMs(1_700_000_000_000));
const folder = useTemporaryFolder("pause");
const postgres = await usePostgres();
const dynamo = await useDynamo();

async function expectPause(ledger: Ledger): Promise<void> {
  const first = { since: clock.now(), by: "ops", reason: "sink migration" };
  expect(await setPause(ledger, SCOPE, first)).toEqual(first);
  const second = { since: epochMs(clock.now() + 1), by: "other", reason: "" };
  expect(await setPause(ledger, SCOPE, second)).toEqual(first);
  expect(await findPause(ledger, { ...SCOPE, generation: 2 })).toBeNull();
  expect(await endPause(ledger, SCOPE)).toEqual(first);
  expect(await findPause(ledger, SCOPE)).toBeNull();
  expect(await endPause(ledger, SCOPE)).toBeNull();
  await ledger.close();
}

test("on SQLite, the first pause of a scope holds until it is resumed", () =>
  expectPause(createSqliteLedger({ clock, turn }, { path: join(folder, "ledger.db") })));

test.skipIf(!postgres.available)(
  "on PostgreSQL, the first pause of a scope holds until it is resumed",
  async () => {
    await expectPause(await createPostgresLedger({ clock }, { url: await postgres.freshUrl() }));
  },
);

if (dynamo.available) {
  const options = dynamo.freshOptions();
  test("on DynamoDB, the first pause of a scope holds until it is resumed", async () => {
    await expectPause(await createDynamoLedger({ clock, random }, options));
  });
}
