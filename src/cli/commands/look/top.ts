// tidegate top: the numbers of a running pipeline, read from its /metrics.
//   T1. It only reads /metrics, so it works on every pipeline that Prometheus can scrape.
//   T2. A page that cannot be read ends --once with exit code 2. Otherwise it is reported, and the
//       next round tries again.

import { TidegateError } from "../../../core/errors.ts";
import { durationMs } from "../../../core/units.ts";
import { systemClock } from "../../../platform/system-clock.ts";
import { command, EXIT_OK, text, toggle, wholeNumber } from "../../command.ts";
import { readMetricsText } from "../../print/metrics-text.ts";
import { type Reading, type TopRow, type TopView, topView } from "../../print/top-view.ts";
import type { Output } from "../../screen/output.ts";
import { stopSignal } from "../../stop-signals.ts";

const PAGE_MS_MAX = 10_000;
const INTERVAL_S_MAX = 3_600;

export const top = command({
  name: "top",
  summary: "Show rates, backlog, latency and cost of a running pipeline.",
  flags: {
    url: text("URL", "http://127.0.0.1:9464/metrics", "Address of /metrics."),
    interval: wholeNumber("S", { min: 1, max: INTERVAL_S_MAX }, "2", "Seconds between readings."),
    once: toggle("Read once and exit; rates need two readings and are omitted."),
    json: toggle("Print each reading as one JSON line."),
  },
  async run({ flags, out }) {
    const url = String(flags.url);
    const everyMs = durationMs(Number(flags.interval ?? 2) * 1_000);
    const show = flags.json ? printJson : printTable;
    if (flags.once) {
      show(out, topView(await readPage(url), null));
      return EXIT_OK;
    }
    const stopping = new AbortController();
    void stopSignal().then(() => stopping.abort());
    let before: Reading | null = null;
    while (!stopping.signal.aborted) {
      try {
        const now = await readPage(url);
        show(out, topView(now, before));
        before = now;
      } catch (error) {
        out.note(error instanceof Error ? error.message : String(error)); // T2
      }
      await systemClock.sleep(everyMs, stopping.signal).catch(() => undefined);
    }
    return EXIT_OK;
  },
});

async function readPage(url: string): Promise<Reading> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(PAGE_MS_MAX) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    return { samples: readMetricsText(await response.text()), at: systemClock.monotonic() };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const message = `${url} cannot be read (${reason}); set --url to the /metrics of a pipeline`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}

function printJson(out: Output, view: TopView): void {
  out.line(JSON.stringify(view));
}

type Column = readonly [title: string, cell: (row: TopRow) => string];

const COLUMNS: readonly Column[] = [
  ["queue", ({ queue }) => queue],
  ["recv/s", (row) => numberOf(row.receivedPerSecond, 1)],
  ["done/s", (row) => numberOf(row.committedPerSecond, 1)],
  ["dup %", (row) => numberOf(row.duplicateRatio === null ? null : row.duplicateRatio * 100, 1)],
  ["busy", (row) => numberOf(row.inFlight)],
  ["waiting", (row) => numberOf(row.queueVisible)],
  ["in flight", (row) => numberOf(row.queueInFlight)],
  ["oldest s", (row) => numberOf(row.queueOldestSeconds)],
  ["stuck s", (row) => numberOf(row.oldestUnsettledSeconds)],
  ["p95 s", (row) => numberOf(row.appliedP95Seconds, 1)],
  ["dead", (row) => numberOf(row.deadLetters)],
  ["breaker", (row) => (row.breakerOpen ? "open" : "closed")],
  ["$/million", (row) => numberOf(row.usdPerMillion, 2)],
];

function printTable(out: Output, { queues, lagSeconds, retries }: TopView): void {
  const rows = [COLUMNS.map(([title]) => title), ...queues.map((row) => cellsOf(row))];
  const widths = COLUMNS.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows) {
    out.line(row.map((cell, at) => aligned(cell, at, widths[at] ?? 0)).join("  "));
  }
  for (const [stream, lag] of Object.entries(lagSeconds)) {
    out.line(`lag of ${stream} in event time: ${numberOf(lag, 1)} s`);
  }
  const failing = Object.entries(retries).map(([reason, count]) => `${reason} ${count}`);
  if (failing.length > 0) out.line(`retries since the start: ${failing.join(", ")}`);
}

const cellsOf = (row: TopRow): string[] => COLUMNS.map(([, cell]) => cell(row));
const aligned = (cell: string, at: number, width: number) =>
  at === 0 ? cell.padEnd(width) : cell.padStart(width);

function numberOf(value: number | null, digits = 0): string {
  if (value === null) return "-";
  return value === Number.POSITIVE_INFINITY ? ">86400" : value.toFixed(digits);
}
