// Load worker: one attempt at a large record, staged in chunks and committed. It kills itself at a
// point. Arguments: the database, the number of rows, the attempt, the point.

import { writeSync } from "node:fs";
import { StatementSync } from "node:sqlite";
import pg from "pg";
import { addMs, epochMs, hours, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Effect } from "../../src/ports/sink.ts";
import { createTableSink, databaseAddress } from "../../src/sinks/table/index.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createManualClock } from "../support/manual-clock.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { turn } from "../support/stores/real-ports.ts";
import { specOf } from "../support/stores/table-sink-world.ts";

/**
 * staging: between two chunks; in-chunk: before a chunk commits; merging: after the rows are
 * written, before the commit; committed: before the stage is removed.
 */
export type LoadPoint = "none" | "staging" | "in-chunk" | "merging" | "committed";

const CHUNK_ROWS = 5_000;
const SCOPE = { pipeline: "load", generation: 0 };
const COLUMNS = { id: "text", v: "integer" } as const;
const [database = "", rowsText = "0", attemptText = "0", point = "none"] = process.argv.slice(2);
const rows = Number(rowsText);
const attempt = Number(attemptText);

const address = databaseAddress(database);
// Each attempt begins when the claim of the previous one has expired.
const clock = createManualClock(epochMs(1_700_000_000_000 + attempt * hours(1)));
const ledger =
  address.dialect === "sqlite"
    ? createSqliteLedger({ clock, turn }, { path: address.path })
    : await createPostgresLedger({ clock }, { url: address.url });
const sink = createTableSink(specOf({ t: { columns: COLUMNS, key: ["id"] } }), address);
await sink.prepare();

let phase: "staging" | "merging" = "staging";
let chunks = 0;

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

/** Dies when a transaction is about to commit, where the point says so. */
function beforeCommit(): void {
  if (point === "in-chunk" && phase === "staging" && chunks >= 2) die();
  if (point === "merging" && phase === "merging") die();
}

const run = StatementSync.prototype.run;
Object.assign(StatementSync.prototype, {
  run(this: StatementSync, ...params: never[]) {
    if (this.sourceSQL === "COMMIT") beforeCommit();
    return Reflect.apply(run, this, params);
  },
});
const query = pg.Client.prototype.query;
Object.assign(pg.Client.prototype, {
  query(this: pg.Client, ...params: never[]) {
    if ((params[0] as unknown) === "COMMIT") beforeCommit();
    return Reflect.apply(query, this, params);
  },
});

const key = asRecordKey("k1:load");
const object = { bucket: "b", key: "big.csv", sequencer: "1", removed: false };
const times = { input: ANY_INPUT, receivedAt: clock.now() };
const lease = { owner: `w${attempt}`, leaseMs: seconds(30) };
const [claimed] = await ledger.claim(SCOPE, [{ key, object, ...times }], lease);
if (claimed?.kind === "claimed") {
  const { fence } = claimed;
  const request = { key, fence, owner: lease.owner, startedAt: clock.now() };
  const store = ledger.sinkStore;
  if (store === null || sink.stage === undefined) throw new Error("the sink does not stage");
  const stage = sink.stage({ ...request, expiresAt: addMs(clock.now(), hours(9)) }, store);
  for (let from = 0; from < rows; from += CHUNK_ROWS) {
    const effects: Effect[] = [];
    for (let index = from; index < Math.min(rows, from + CHUNK_ROWS); index += 1) {
      effects.push({ kind: "upsert", table: "t", row: { id: `r${index}`, v: attempt } });
    }
    await stage.add(effects);
    chunks += 1;
    if (point === "staging" && chunks === 3) die();
  }
  await stage.seal();
  phase = "merging";
  const writes = stage.merge({ key, object, eventTime: epochMs(1) });
  const [result] = await ledger.commit(SCOPE, [{ key, fence, digest: "d", object, writes }]);
  writeSync(1, `${result?.kind}\n`);
  if (point === "committed") die();
  await stage.discard();
} else writeSync(1, `${claimed?.kind}\n`);
await ledger.close();
