// Commits records forever, by claim and directly in turns, and prints the number of each batch once
// the ledger has answered. Its parent kills it.

import { seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { openLedger } from "../../src/run/open/open-ledger.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { random, systemClock, turn } from "../support/stores/real-ports.ts";

export const KILL_SCOPE = { pipeline: "kill", generation: 1 };
const KILL_BATCH = 20;
export const killKeys = (batch: number) =>
  Array.from({ length: KILL_BATCH }, (_, n) => asRecordKey(`k1:${batch}-${n}`));

if (import.meta.main) {
  const [, , url = "", from = "0"] = process.argv;
  const ledger = await openLedger(url, { clock: systemClock, turn, random });
  for (let batch = Number(from); ; batch += 1) {
    const now = systemClock.now();
    const keys = killKeys(batch);
    if (batch % 2 === 0) {
      const lease = { owner: "w", leaseMs: seconds(30) };
      const asked = keys.map((key) => ({ key, input: ANY_INPUT, receivedAt: now }));
      const claims = await ledger.claim(KILL_SCOPE, asked, lease);
      const commits = claims.map((claim, at) => {
        if (claim.kind !== "claimed") throw new Error(`a new record was ${claim.kind}`);
        return { key: keys[at] ?? asRecordKey(""), fence: claim.fence, digest: "d" };
      });
      await ledger.commit(KILL_SCOPE, commits);
    } else {
      const times = { input: ANY_INPUT, receivedAt: now, startedAt: now };
      const commits = keys.map((key) => ({ key, owner: "w", ...times, digest: "d" }));
      await ledger.commitDirect(KILL_SCOPE, commits);
    }
    process.stdout.write(`${batch}\n`);
  }
}
