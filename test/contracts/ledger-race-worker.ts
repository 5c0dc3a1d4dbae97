// One of many processes that race for the same keys. It claims in random order, sometimes with a
// lease that is too short, drops some claims as a crash would, commits others late, and continues
// until every key is committed. At the end it prints the answers it got.

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { durationMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { Ledger } from "../../src/ports/ledger.ts";
import type { Fence, RecordKey } from "../../src/ports/record.ts";
import { openLedger } from "../../src/run/open/open-ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { random, systemClock, turn } from "../support/stores/real-ports.ts";

/** What a worker got: fences of its claims and of its accepted commits, by key number. */
export interface RaceReport {
  readonly claims: [number, number][];
  readonly commits: [number, number][];
  readonly fenced: number;
}

export const RACE_SCOPE = { pipeline: "race", generation: 1 };
const BATCH = 50;
const PAUSE_MS = 5;
const SHORT_MS = durationMs(1);
const LONG_MS = durationMs(20_000);
/** A SQLite file has one writer at a time and no fair queue; some may wait long. */
const BUSY_MS = durationMs(120_000);

export function raceKey(n: number): RecordKey {
  return asRecordKey(`k1:${createHash("sha256").update(String(n)).digest("hex")}`);
}

async function openPatiently(url: string): Promise<Ledger> {
  const ports = { clock: systemClock, turn, random };
  if (!url.startsWith("sqlite:")) return openLedger(url, ports);
  return createSqliteLedger(ports, { path: url.slice("sqlite:".length), busyMs: BUSY_MS });
}

async function race(url: string, owner: string, keys: number): Promise<RaceReport> {
  const ledger = await openPatiently(url);
  const claims: [number, number][] = [];
  const commits: [number, number][] = [];
  let fenced = 0;
  const open = new Set(Array.from({ length: keys }, (_, n) => n));
  /** Claims of an earlier round, committed only now: their short leases have long expired. */
  let late: [number, Fence][] = [];
  while (open.size > 0) {
    const batch = [...open].sort(() => random.fraction() - 0.5).slice(0, BATCH);
    const short = random.fraction() < 0.5;
    const requests = batch.map((n) => ({
      key: raceKey(n),
      input: ANY_INPUT,
      receivedAt: systemClock.now(),
    }));
    const lease = { owner, leaseMs: short ? SHORT_MS : LONG_MS };
    const results = await ledger.claim(RACE_SCOPE, requests, lease);
    const held: [number, Fence][] = [];
    for (const [at, result] of results.entries()) {
      const n = batch[at] ?? -1;
      if (result.kind === "duplicate") open.delete(n);
      if (result.kind !== "claimed") continue;
      claims.push([n, result.fence]);
      // A short claim may be dropped; a long one never, or all would wait for it.
      if (!short || random.fraction() < 0.7) held.push([n, result.fence]);
    }
    const now = short ? late : [...late, ...held];
    late = short ? held : [];
    const answers = await ledger.commit(
      RACE_SCOPE,
      now.map(([n, fence]) => ({ key: raceKey(n), fence, digest: `${owner} ${fence}` })),
    );
    for (const [at, answer] of answers.entries()) {
      const [n, fence] = now[at] ?? [-1, 0];
      if (answer.kind === "committed") commits.push([n, fence]);
      else fenced += 1;
    }
    if (held.length === 0) await sleep(PAUSE_MS); // Others hold them all: do not spin.
  }
  await ledger.close();
  return { claims, commits, fenced };
}

if (import.meta.main) {
  const [, , url = "", owner = "", keys = "0"] = process.argv;
  process.stdout.write(JSON.stringify(await race(url, owner, Number(keys))));
}
