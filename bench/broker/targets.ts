// Targets: the figures that the project promises, each with its measurement.
//   G1. A target without figures (a part or server was left out) is "not measured", never met.

import type { BytesEach, Million } from "./million.ts";
import type { Objects } from "./objects.ts";
import type { ServerName } from "./options.ts";
import type { Startup } from "./startup.ts";
import type { Row, Throughput } from "./throughput.ts";

export interface Results {
  throughput: Throughput;
  million: Partial<Record<ServerName, Million>>;
  dedup: Partial<Record<ServerName, BytesEach>>;
  objects?: Objects;
  startup: Partial<Record<ServerName, Startup>>;
  fullStartup?: { readonly afterCrash: Startup; readonly afterStop: Startup };
}

export interface Verdict {
  readonly target: string;
  /** The measurement with its unit; null if not measured. */
  readonly measured: string | null;
  readonly verdict: "met" | "missed" | "not measured";
}

function judge(
  target: string,
  value: number | undefined,
  unit: string,
  holds: (value: number) => boolean,
): Verdict {
  if (value === undefined || Number.isNaN(value)) {
    return { target, measured: null, verdict: "not measured" }; // G1
  }
  const digits = unit === "" ? 2 : 0;
  const measured = `${value.toFixed(digits)}${unit}`;
  return { target, measured, verdict: holds(value) ? "met" : "missed" };
}

/** One rate over another, if both were measured. */
export function ratio(
  throughput: Throughput,
  [name, row]: readonly [ServerName, Row],
  [otherName, otherRow]: readonly [ServerName, Row],
): number | undefined {
  const rate = throughput[name]?.[row]?.perSecond;
  const other = throughput[otherName]?.[otherRow]?.perSecond;
  return rate === undefined || other === undefined ? undefined : rate / other;
}

function judgeRates(throughput: Throughput): Verdict[] {
  const against = (row: Row, other: ServerName) => ratio(throughput, ["ours", row], [other, row]);
  const fifo = (row: Row, standard: Row) => ratio(throughput, ["ours", row], ["ours", standard]);
  const faster = (value: number): boolean => value > 1;
  return [
    judge("send: at least 0.6 of the floor", against("send", "floor"), "", (v) => v >= 0.6),
    judge("send: faster than fauxqs in memory", against("send", "fauxqs"), "", faster),
    judge("batch: faster than fauxqs in memory", against("batch", "fauxqs"), "", faster),
    judge("cycle: faster than fauxqs in memory", against("cycle", "fauxqs"), "", faster),
    ...(["send", "batch", "cycle"] as const).map((row) =>
      judge(`${row}: 8 times fauxqs on disk`, against(row, "fauxqs-disk"), "", (v) => v >= 8),
    ),
    judge("fifo send: 0.7 of standard", fifo("fifo send", "send"), "", (v) => v >= 0.7),
    judge("fifo cycle: 0.7 of standard", fifo("fifo cycle", "cycle"), "", (v) => v >= 0.7),
    judge("publish: 0.7 of send", fifo("publish", "send"), "", (v) => v >= 0.7),
  ];
}

/** All targets, in the order of the report. */
export function judgeAll(results: Results): Verdict[] {
  const million = results.million.ours;
  const latency = million && million.big.medianMs / million.small.medianMs;
  const { fullStartup, objects } = results;
  const peakMib = objects && objects.peakRssBytes / 1_024 ** 2;
  return [
    ...judgeRates(results.throughput),
    judge("receive: big backlog within 1.5 of small", latency, "", (v) => v <= 1.5),
    judge("memory per waiting message", million?.perMessage.rssBytes, " B", (v) => v <= 200),
    judge("memory per live dedup id", results.dedup.ours?.heldBytes, " B", (v) => v <= 100),
    judge("put of 10 KB with its event", objects?.putsPerSecond, "/s", (v) => v >= 1_000),
    judge("memory of a big object, up and down", peakMib, " MiB", (v) => v < 200),
    judge("ready on an empty folder", results.startup.ours?.readyMs, " ms", (v) => v < 300),
    judge("ready on a full folder", fullStartup?.afterStop.readyMs, " ms", (v) => v < 5_000),
    judge("ready after a crash", fullStartup?.afterCrash.readyMs, " ms", (v) => v < 5_000),
  ];
}
