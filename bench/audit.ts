// Measures an audit: objects of an embedded cloud in the same process with a data folder, a SQLite
// ledger (synchronous=FULL when it was filled) and the register of one table. Usage:
//   npm run bench:audit [-- --objects 1000000] [--check]
// One process fills the stores, another one audits, so that the peak of memory is that of the
// audit. --check exits with an error if a target is missed.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { emptyQueue } from "../src/audit/queue-snapshot.ts";
import { runAudit } from "../src/audit/run-audit.ts";
import { StatementBuilder } from "../src/audit/statement.ts";
import { openCloud } from "../src/cloud/open-cloud.ts";
import { days, durationMs, minutes, subtractMs } from "../src/core/units.ts";
import { createAuditReader } from "../src/operate/audits/reader-thread.ts";
import { boundHeap, boundThreadHeaps } from "../src/platform/bound-heap.ts";
import { systemPorts } from "../src/platform/index.ts";
import { createTableEffects } from "../src/sinks/table/index.ts";
import { createSqliteLedger } from "../src/stores/sqlite/ledger/ledger.ts";
import { createBrokerLister } from "./audit/broker-lister.ts";
import { fillStores } from "./audit/fill-stores.ts";
import { BUCKET, SCOPE, TABLES } from "./audit/subject.ts";

const { values: flags } = parseArgs({
  options: {
    objects: { type: "string", default: "1000000" },
    check: { type: "boolean", default: false },
    fill: { type: "string" },
    audit: { type: "string" },
  },
});
const OBJECTS = Number(flags.objects);
const RATE_MIN = 50_000;
const PEAK_MIB_MAX = 300;
const KIB_PER_MIB = 1_024;

if (flags.fill !== undefined) await fillStores(flags.fill, OBJECTS);
else if (flags.audit !== undefined) await auditStores(flags.audit);
else measure();

async function auditStores(folder: string): Promise<void> {
  boundHeap();
  boundThreadHeaps();
  const cloud = await openCloud({ data: join(folder, "data") });
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger(systemPorts, { path, readOnly: true });
  if (ledger.sinkStore === null) throw new Error("the ledger has no tables");
  const effects = await createTableEffects(ledger.sinkStore, "sqlite", TABLES);
  const records = createAuditReader(ledger, { path });
  const { clock } = systemPorts;
  const startedAt = clock.now();
  const window = { from: null, to: startedAt, forgetsBefore: subtractMs(startedAt, days(45)) };
  const subject = { ...SCOPE, bucket: BUCKET, prefix: "" };
  const builder = new StatementBuilder({ subject, ...window, previous: null });
  const begun = performance.now();
  const begunCpu = process.cpuUsage();
  await runAudit(
    {
      clock,
      ledger,
      lister: createBrokerLister(cloud.broker),
      effects,
      records,
      readQueue: async () => emptyQueue(startedAt, "exact"),
    },
    {
      ...subject,
      ...window,
      scope: SCOPE,
      startedAt,
      graceMs: minutes(0),
      pauseMs: durationMs(0),
      retentionMs: days(45),
      isHeld: () => false,
      handlesRemovals: false,
    },
    (line) => builder.add(line),
    new AbortController().signal,
  );
  const seconds = (performance.now() - begun) / 1_000;
  const { user, system } = process.cpuUsage(begunCpu);
  const cpuSeconds = (user + system) / 1_000_000;
  const { counts, digest } = builder.end({
    id: "bench",
    startedAt: "",
    endedAt: "",
    sink: { checked: true, what: "" },
    queue: { read: "exact", messages: 0 },
    rows: null,
    graceMs: 0,
  });
  const peakMib = process.resourceUsage().maxRSS / KIB_PER_MIB;
  console.log(JSON.stringify({ seconds, cpuSeconds, peakMib, counts, digest }));
  await records.close();
  await ledger.close();
  await cloud.close();
}

function measure(): void {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-bench-audit-"));
  try {
    runSelf("--fill", folder);
    const { seconds, cpuSeconds, peakMib, counts } = JSON.parse(runSelf("--audit", folder)) as {
      readonly seconds: number;
      readonly cpuSeconds: number;
      readonly peakMib: number;
      readonly counts: Readonly<Record<string, number>>;
    };
    const rate = OBJECTS / seconds;
    const statuses = Object.entries(counts).filter(([, count]) => count > 0);
    console.log(`${OBJECTS} objects: ${statuses.map((each) => each.join(" ")).join(", ")}`);
    const isFast = rate >= RATE_MIN;
    const isSmall = peakMib <= PEAK_MIB_MAX;
    const word = (met: boolean) => (met ? "met" : "missed");
    console.log(`audit: ${seconds.toFixed(1)} s, ${Math.round(rate)} objects/s (${word(isFast)})`);
    console.log(`processor: ${cpuSeconds.toFixed(1)} s in all threads`);
    console.log(`peak: ${Math.round(peakMib)} MiB with the cloud (${word(isSmall)})`);
    if (flags.check && !(isFast && isSmall)) process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function runSelf(what: "--fill" | "--audit", folder: string): string {
  const args = [import.meta.filename, what, folder, "--objects", String(OBJECTS)];
  // As the command line does; types are stripped once, not in every thread.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  const child = spawnSync(process.execPath, args, { encoding: "utf8", env });
  if (child.status !== 0) throw new Error(`${what} failed: ${child.stderr}`);
  return child.stdout;
}
