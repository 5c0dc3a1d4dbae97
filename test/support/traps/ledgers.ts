// Ledgers for the trap tests: memory and SQLite, which need no server. test/contracts checks that
// the other stores give the same answers.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { epochMs, seconds } from "../../../src/core/units.ts";
import { asRecordKey } from "../../../src/ledger/record-state.ts";
import type { ClaimResult, Ledger } from "../../../src/ports/ledger.ts";
import type { Fence, ObjectRef } from "../../../src/ports/record.ts";
import { createMemoryLedger } from "../../../src/stores/memory/ledger.ts";
import { createSqliteLedger } from "../../../src/stores/sqlite/ledger/ledger.ts";
import type { ManualClock } from "../manual-clock.ts";
import { createManualClock } from "../manual-clock.ts";
import { ANY_INPUT } from "../stores/any-input.ts";
import { turn } from "../stores/real-ports.ts";

export const SCOPE = { pipeline: "orders", generation: 1 };
export const T0 = epochMs(1_700_000_000_000);
export const FAILURE = { errorClass: "network", fingerprint: "f1", message: "connection reset" };

/** A new ledger and its clock. */
export interface TrapWorld {
  readonly ledger: Ledger;
  readonly clock: ManualClock;
}

export function onEveryLedger(title: string, body: (fresh: () => TrapWorld) => void): void {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-trap-"));
  const open: Ledger[] = [];
  let files = 0;
  afterAll(async () => {
    for (const ledger of open) await ledger.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const keep = (ledger: Ledger, clock: ManualClock): TrapWorld => {
    open.push(ledger);
    return { ledger, clock };
  };
  describe.each(["memory", "SQLite"])(`${title}, on %s`, (store) => {
    body(() => {
      const clock = createManualClock(T0);
      if (store === "memory") return keep(createMemoryLedger({ clock }), clock);
      files += 1;
      const path = join(folder, `${files}.db`);
      return keep(createSqliteLedger({ clock, turn }, { path }), clock);
    });
  });
}

export async function claimOne(
  { ledger, clock }: TrapWorld,
  name: string,
  more: {
    readonly owner?: string;
    readonly object?: ObjectRef;
    readonly scope?: typeof SCOPE;
  } = {},
): Promise<ClaimResult> {
  const { owner = "worker-1", object, scope = SCOPE } = more;
  const request = {
    key: asRecordKey(name),
    input: ANY_INPUT,
    receivedAt: clock.now(),
    ...(object && { object }),
  };
  const [result] = await ledger.claim(scope, [request], { owner, leaseMs: seconds(30) });
  if (result === undefined) throw new Error("no result");
  return result;
}

export function fenceIn(result: ClaimResult): Fence {
  if (result.kind !== "claimed") throw new Error(`expected a claim, got ${result.kind}`);
  return result.fence;
}

export async function commitOne(
  { ledger }: TrapWorld,
  name: string,
  fence: Fence,
  object?: ObjectRef,
): Promise<string> {
  const commit = { key: asRecordKey(name), fence, digest: "d", ...(object && { object }) };
  const [result] = await ledger.commit(SCOPE, [commit]);
  return result?.kind ?? "none";
}

export async function failOne(
  { ledger, clock }: TrapWorld,
  name: string,
  fence: Fence,
  permanent = false,
) {
  const attempt = {
    owner: "worker-1",
    input: ANY_INPUT,
    receivedAt: clock.now(),
    permanent,
    failure: FAILURE,
  };
  const [result] = await ledger.fail(SCOPE, [{ key: asRecordKey(name), fence, ...attempt }]);
  return result;
}
