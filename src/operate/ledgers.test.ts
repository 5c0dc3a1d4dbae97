import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { ANY_INPUT } from "../../test/support/stores/any-input.ts";
import { random, turn } from "../../test/support/stores/real-ports.ts";
import { useTemporaryFolder } from "../../test/support/temporary-folder.ts";
import { statsLines, viewLines } from "../cli/print/ledger-text.ts";
import { epochMs, seconds } from "../core/units.ts";
import { asRecordKey } from "../ledger/record-state.ts";
import { openLedger } from "../run/open/open-ledger.ts";
import { openOperator } from "./open-operator.ts";

const folder = useTemporaryFolder("reports");
const ports = { clock: createManualClock(epochMs(1_700_000_000_000)), turn, random };
const scope = { pipeline: "orders", generation: 1 };

test("a ledger is created, checked, counted and shown by its URL", async () => {
  const url = `sqlite:${join(folder, "ledger.db")}`;
  const { clock } = ports;
  const options = { ...scope, ledger: url, clock };
  await expect(openOperator(options).ledger.check()).rejects.toMatchObject({
    code: "TG_CONFIG_INVALID",
  });
  await using operator = openOperator(options);
  expect(await operator.ledger.create()).toBe("sqlite");
  expect(await operator.ledger.check()).toEqual({ problems: [], notes: [] });
  expect(statsLines(await operator.ledger.stats())).toEqual(["The ledger is empty."]);
  const ledger = await openLedger(url, ports);
  const request = { key: asRecordKey("k1:a"), input: ANY_INPUT, receivedAt: ports.clock.now() };
  const [claim] = await ledger.claim(scope, [request], { owner: "w", leaseMs: seconds(30) });
  if (claim?.kind !== "claimed") throw new Error("not claimed");
  await ledger.commit(scope, [
    { key: request.key, fence: claim.fence, digest: "d", effects: "3 rows" },
  ]);
  await ledger.close();
  expect(statsLines(await operator.ledger.stats())).toEqual([
    "pipeline  generation  committed  claimed  returned  failed  dead-lettered  objects",
    "orders             1          1        0         0       0              0        0",
  ]);
  const view = await operator.ledger.show("k1:a");
  expect(view && viewLines(view)).toEqual([
    "committed, fence 1700000000000, attempts 1",
    "first seen 2023-11-14T22:13:20.000Z, kept until 2023-12-29T22:13:20.000Z",
    "result d",
    "effects: 3 rows",
    "2023-11-14T22:13:20.000Z  received   1700000000000/0",
    "2023-11-14T22:13:20.000Z  started    1700000000000/1 by w",
    "2023-11-14T22:13:20.000Z  succeeded  1700000000000/2",
  ]);
  expect(await operator.ledger.show("k1:b")).toBeUndefined();
});

test("a ledger in memory is reported as not durable", async () => {
  const { problems } = await openOperator({ ledger: "memory:" }).ledger.check();
  expect(problems).not.toEqual([]);
});
