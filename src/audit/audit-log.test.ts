import { expect, test } from "vitest";
import { createManualClock } from "../../test/support/manual-clock.ts";
import { epochMs } from "../core/units.ts";
import type { AuditCounts, AuditSummary } from "../ports/audit.ts";
import { createMemoryLedger } from "../stores/memory/ledger.ts";
import { findAudit, listAudits, saveAudit } from "./audit-log.ts";

const SCOPE = { pipeline: "p", generation: 0 };

function summary(startedAt: number): AuditSummary {
  return {
    id: `audit-${startedAt}`,
    startedAt: epochMs(startedAt),
    endedAt: epochMs(startedAt + 1),
    bucket: "in",
    prefix: "",
    from: null,
    to: epochMs(startedAt),
    verdict: "complete",
    counts: {} as AuditCounts,
    digest: "0".repeat(64),
    exceptions: [],
    quarantined: { sets: 0, rows: 0 },
    sinkChecked: true,
  };
}

test("the ledger lists the latest audits of a pipeline, newest first, and finds one by its id", async () => {
  const ledger = createMemoryLedger({ clock: createManualClock(epochMs(1_000_000)) });
  for (const at of [2_000, 10_000, 3_000]) await saveAudit(ledger, SCOPE, summary(at));
  await saveAudit(ledger, { ...SCOPE, pipeline: "other" }, summary(4_000));
  const starts = (await listAudits(ledger, SCOPE, 2)).map(({ startedAt }) => startedAt);
  expect(starts).toEqual([10_000, 3_000]);
  expect(await findAudit(ledger, SCOPE, "audit-2000")).toEqual(summary(2_000));
  expect(await findAudit(ledger, SCOPE, "audit-4000")).toBeNull();
});

test("the ledger keeps the latest 500 audits of a pipeline", async () => {
  const ledger = createMemoryLedger({ clock: createManualClock(epochMs(1_000_000)) });
  for (let at = 1; at <= 503; at += 1) await saveAudit(ledger, SCOPE, summary(at));
  const audits = await listAudits(ledger, SCOPE, 1_000);
  expect(audits).toHaveLength(500);
  expect(audits.at(-1)?.startedAt).toBe(4);
});
