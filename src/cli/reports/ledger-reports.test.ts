import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { random, turn } from "../../../test/support/stores/real-ports.ts";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { epochMs, seconds } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { openLedger } from "../../run/open/open-ledger.ts";
import { checkLedger, initLedger, ledgerStats, showRecord } from "./ledger-reports.ts";

const folder = useTemporaryFolder("reports");
const ports = { clock: createManualClock(epochMs(1_700_000_000_000)), turn, random };
const scope = { pipeline: "orders", generation: 1 };

test("a ledger is created, checked, counted and shown by its URL", async () => {
  const url = `sqlite:${join(folder, "ledger.db")}`;
  await expect(checkLedger(url, ports)).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
  expect(await initLedger(url, ports, { listing: false })).toEqual({
    lines: ["The sqlite ledger is ready."],
    ok: true,
  });
  expect(await checkLedger(url, ports)).toEqual({ lines: ["The ledger is sound."], ok: true });
  expect(await ledgerStats(url, ports)).toEqual({ lines: ["The ledger is empty."], ok: true });
  const ledger = await openLedger(url, ports);
  const request = { key: asRecordKey("k1:a"), input: ANY_INPUT, receivedAt: ports.clock.now() };
  const [claim] = await ledger.claim(scope, [request], { owner: "w", leaseMs: seconds(30) });
  if (claim?.kind !== "claimed") throw new Error("not claimed");
  await ledger.commit(scope, [
    { key: request.key, fence: claim.fence, digest: "d", effects: "3 rows" },
  ]);
  await ledger.close();
  expect((await ledgerStats(url, ports)).lines).toEqual([
    "pipeline  generation  committed  claimed  returned  failed  dead-lettered  objects",
    "orders             1          1        0         0       0              0        0",
  ]);
  expect((await showRecord(url, ports, { scope, key: "k1:a" })).lines).toEqual([
    "committed, fence 1700000000000, attempts 1",
    "first seen 2023-11-14T22:13:20.000Z, kept until 2023-12-29T22:13:20.000Z",
    "result d",
    "effects: 3 rows",
    "2023-11-14T22:13:20.000Z  received   1700000000000/0",
    "2023-11-14T22:13:20.000Z  started    1700000000000/1 by w",
    "2023-11-14T22:13:20.000Z  succeeded  1700000000000/2",
  ]);
  expect(await showRecord(url, ports, { scope, key: "k1:b" })).toEqual({
    lines: ["No record k1:b in orders, generation 1."],
    ok: false,
  });
});

test("a ledger in memory is reported as not durable", async () => {
  expect(await checkLedger("memory:", ports)).toMatchObject({ ok: false });
});
