import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual-clock.ts";
import { zeroCounts } from "../../audit/audit-line.ts";
import { saveAudit } from "../../audit/audit-log.ts";
import { type EpochMs, hours, minutes, subtractMs } from "../../core/units.ts";
import { SILENT } from "../../ingest/telemetry/silent-telemetry.ts";
import type { AuditSummary } from "../../ports/audit.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { auditTerms, startAudits } from "./scheduled-audits.ts";

const TERMS = { everyMs: minutes(60), windowMs: hours(24) };

function world(fail = false, suffix: string | undefined = undefined) {
  const clock = new ManualClock();
  const ledger = createMemoryLedger({ clock });
  const windows: EpochMs[] = [];
  const gauges = new Map<string, number>();
  const counted: string[] = [];
  const summary = (): AuditSummary => ({
    id: `a${windows.length}`,
    startedAt: clock.now(),
    endedAt: clock.now(),
    bucket: "b",
    prefix: "",
    from: null,
    to: clock.now(),
    verdict: "incomplete",
    counts: { ...zeroCounts(), committed: 5, double: 2 },
    digest: "d",
    exceptions: [],
    quarantined: { sets: 0, rows: 0 },
    sinkChecked: true,
  });
  const telemetry = {
    ...SILENT,
    gauge: (name: string, value: number, labels: Record<string, string>) =>
      void gauges.set([name, ...Object.values(labels)].join(" "), value),
    count: (name: string) => void counted.push(name),
  };
  const audits = startAudits(
    {
      clock,
      ledger,
      telemetry,
      runAudit: async (from) => {
        windows.push(from);
        if (fail) throw new Error("down");
        return summary();
      },
    },
    { name: "p", generation: 0, source: { bucket: "b", prefix: "" } },
    { ...TERMS, suffix },
  );
  const pass = async (ms: number) => {
    clock.advance(ms);
    await clock.untilAsleep();
  };
  return { clock, ledger, windows, gauges, counted, audits, pass, summary };
}

test("a scheduled audit covers its window and reports the count of every status", async () => {
  const { windows, gauges, pass, audits, clock } = world();
  await pass(minutes(59));
  expect(windows).toEqual([]);
  await pass(minutes(1));
  expect(windows).toEqual([clock.now() - hours(24)]);
  expect(gauges.get("tidegate_audit_objects p double")).toBe(2);
  expect(gauges.get("tidegate_audit_objects p missing")).toBe(0);
  expect(gauges.get("tidegate_audit_ended_seconds p")).toBe(clock.now() / 1_000);
  await audits.close();
});

test("a process skips its turn if another one has audited, and reports that result", async () => {
  const { windows, gauges, pass, audits, ledger, summary } = world();
  await pass(minutes(50));
  await saveAudit(ledger, { pipeline: "p", generation: 0 }, summary());
  await pass(minutes(10));
  expect(windows).toEqual([]);
  expect(gauges.get("tidegate_audit_objects p double")).toBe(2);
  await audits.close();
});

test("an audit of a part of the window neither replaces a scheduled one nor its metrics", async () => {
  const { windows, gauges, pass, audits, ledger, summary, clock } = world();
  await pass(minutes(50));
  const scope = { pipeline: "p", generation: 0 };
  const part = { ...summary(), counts: { ...zeroCounts(), committed: 1 } };
  await saveAudit(ledger, scope, { ...part, id: "folder", prefix: "folder/" });
  await saveAudit(ledger, scope, { ...part, id: "hour", from: subtractMs(clock.now(), hours(1)) });
  await saveAudit(ledger, scope, { ...part, id: "past", to: subtractMs(clock.now(), hours(2)) });
  await pass(minutes(10));
  expect(windows).toHaveLength(1);
  expect(gauges.get("tidegate_audit_objects p double")).toBe(2);
  await audits.close();
});

test.each([
  { own: ".csv", stored: {}, audits: 1 },
  { own: undefined, stored: { suffix: ".csv" }, audits: 1 },
  { own: ".csv", stored: { suffix: ".csv" }, audits: 0 },
])(
  "with suffix $own, an audit of $stored leads to $audits more",
  async ({ own, stored, audits: count }) => {
    const { windows, pass, audits, ledger, summary } = world(false, own);
    await pass(minutes(50));
    await saveAudit(ledger, { pipeline: "p", generation: 0 }, { ...summary(), ...stored });
    await pass(minutes(10));
    expect(windows).toHaveLength(count);
    await audits.close();
  },
);

test("an audit that fails is counted, and the next one runs", async () => {
  const { windows, counted, pass, audits } = world(true);
  await pass(minutes(60));
  await pass(minutes(60));
  expect(windows).toHaveLength(2);
  expect(counted).toEqual(["tidegate_audits_failed_total", "tidegate_audits_failed_total"]);
  await audits.close();
});

test("audits are off by default, and cover a day if they are on", () => {
  expect(auditTerms({})).toBeNull();
  expect(auditTerms({ auditMinutes: 60 })).toEqual(TERMS);
  expect(auditTerms({ auditMinutes: 5, auditHours: 2 })?.windowMs).toBe(hours(2));
  expect(auditTerms({ auditMinutes: 5, auditSuffix: ".csv" })?.suffix).toBe(".csv");
});
