// Frozen worker: stops inside a transaction, so that a test can freeze it there.
//   postgres URL: claims a record and commits it with a sink statement that waits for an advisory
//   lock. The transaction holds the row locks of the record and of its object meanwhile.
//   sqlite PATH: begins a transaction, which holds the file's write lock, until its input ends.
// Prints "holding" before it waits, and the result of the commit after it.

import { once } from "node:events";
import { DatabaseSync } from "node:sqlite";
import { durationMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { systemClock } from "../support/stores/real-ports.ts";

export const FROZEN_SCOPE = { pipeline: "frozen", generation: 1 };
export const FROZEN_KEY = asRecordKey("k1:frozen");
export const FROZEN_OBJECT = { bucket: "in", key: "o", sequencer: "02" };
/** The advisory lock for which the worker's sink statement waits. */
export const PAUSE_LOCK = 12;
/** Expires while the worker is frozen. */
const LEASE_MS = durationMs(1);

const say = (line: string) => void process.stdout.write(`${line}\n`);

async function holdRows(url: string): Promise<void> {
  const ledger = await createPostgresLedger({ clock: systemClock }, { url });
  const request = {
    key: FROZEN_KEY,
    input: ANY_INPUT,
    receivedAt: systemClock.now(),
    object: FROZEN_OBJECT,
  };
  const lease = { owner: "frozen", leaseMs: LEASE_MS };
  const [claim] = await ledger.claim(FROZEN_SCOPE, [request], lease);
  if (claim?.kind !== "claimed") throw new Error(`a new record was ${claim?.kind}`);
  const pause = { statement: `SELECT pg_advisory_xact_lock(${PAUSE_LOCK})`, params: [] };
  const commit = { key: FROZEN_KEY, fence: claim.fence, digest: "d", object: FROZEN_OBJECT };
  say("holding");
  const [result] = await ledger.commit(FROZEN_SCOPE, [{ ...commit, writes: [pause] }]);
  say(result?.kind ?? "nothing");
  await ledger.close();
}

async function holdFile(path: string): Promise<void> {
  const db = new DatabaseSync(path);
  db.exec("BEGIN IMMEDIATE");
  say("holding");
  await once(process.stdin.resume(), "end");
  db.exec("COMMIT");
  db.close();
  say("committed");
}

if (import.meta.main) {
  const [, , store, where = ""] = process.argv;
  await (store === "postgres" ? holdRows(where) : holdFile(where));
}
