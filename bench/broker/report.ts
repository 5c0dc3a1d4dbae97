// Report: the results as tables for a terminal.

import type { Million } from "./million.ts";
import type { Objects } from "./objects.ts";
import { SERVERS, type ServerName } from "./options.ts";
import { judgeAll, type Results, ratio } from "./targets.ts";
import { ROWS, type Throughput } from "./throughput.ts";

const ALL_SERVERS: readonly ServerName[] = [...SERVERS, "earlier"];
const MIB = 1_024 ** 2;
/** From this share on, the load generator itself may limit a row. */
const GENERATOR_SHARE_WARN = 0.9;

/** Columns padded to their widest cell; the first is flush left, the others flush right. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd();
  return rows.map(line).join("\n");
}

const show = (value: number | undefined, digits: number): string =>
  value === undefined ? "-" : value.toFixed(digits);

function ratesTable(throughput: Throughput): string {
  const names = ALL_SERVERS.filter((name) => throughput[name] !== undefined);
  const rows = ROWS.map((row) => [
    row,
    ...names.map((name) => {
      const sample = throughput[name]?.[row];
      const mark = (sample?.generatorShare ?? 0) >= GENERATOR_SHARE_WARN ? "*" : "";
      return show(sample?.perSecond, 0) + mark;
    }),
  ]);
  return table([["messages/s", ...names], ...rows]);
}

/** T5 of throughput.ts */
function processorTable(throughput: Throughput): string {
  const names = ALL_SERVERS.filter((name) => throughput[name] !== undefined);
  const rows = ROWS.map((row) => [
    row,
    ...names.map((name) => show(throughput[name]?.[row]?.serverMicros, 1)),
  ]);
  return table([["server CPU us/message", ...names], ...rows]);
}

function ratiosTable(throughput: Throughput): string {
  const others: readonly ServerName[] = [
    "floor",
    "fauxqs",
    "fauxqs-disk",
    "ours-memory",
    "earlier",
  ];
  const rows = ROWS.map((row) => [
    row,
    ...others.map((other) => show(ratio(throughput, ["ours", row], [other, row]), 2)),
  ]);
  return table([["ours, durable, over", ...others], ...rows]);
}

function millionTable(million: Partial<Record<ServerName, Million>>): string {
  const rows = Object.entries(million).map(([name, { small, big, perMessage }]) => [
    name,
    `${show(small.medianMs, 3)} / ${show(small.p99Ms, 3)}`,
    `${show(big.medianMs, 3)} / ${show(big.p99Ms, 3)}`,
    show(big.medianMs / small.medianMs, 2),
    show(perMessage.rssBytes, 0),
    show(perMessage.heldBytes, 0),
  ]);
  const head = ["backlog", "small p50/p99 ms", "big p50/p99 ms", "ratio", "RSS B", "heap B"];
  return table([head, ...rows]);
}

function startupTable(results: Results): string {
  const rows = Object.entries(results.startup).map(([name, start]) => [
    `${name}, empty folder`,
    show(start.readyMs, 0),
    show(start.firstReplyMs, 0),
  ]);
  if (results.fullStartup !== undefined) {
    const { afterCrash, afterStop } = results.fullStartup;
    for (const [what, start] of [
      ["after a crash", afterCrash] as const,
      ["", afterStop] as const,
    ]) {
      const name = `ours, full folder ${what}`.trimEnd();
      rows.push([name, show(start.readyMs, 0), show(start.firstReplyMs, 0)]);
    }
  }
  return table([["startup", "ready ms", "first reply ms"], ...rows]);
}

function objectsTable(objects: Objects): string {
  const row = [
    show(objects.putsPerSecond, 0),
    show(objects.bigBytes / MIB, 0),
    show(objects.upMibPerSecond, 0),
    show(objects.downMibPerSecond, 0),
    show(objects.peakRssBytes / MIB, 0),
  ];
  const head = ["objects", "puts/s", "big MiB", "up MiB/s", "down MiB/s", "peak RSS MiB"];
  return table([head, ["ours", ...row]]);
}

/** All measurements, then every target with its verdict. */
export function renderReport(results: Results): string {
  const parts: string[] = [];
  if (Object.keys(results.throughput).length > 0) {
    parts.push(
      ratesTable(results.throughput),
      processorTable(results.throughput),
      ratiosTable(results.throughput),
    );
    const shares = Object.values(results.throughput).flatMap((rows) => Object.values(rows));
    if (shares.some(({ generatorShare }) => generatorShare >= GENERATOR_SHARE_WARN)) {
      parts.push("* the load generator was near its own limit; the server may be faster");
    }
  }
  if (Object.keys(results.million).length > 0) parts.push(millionTable(results.million));
  const dedup = Object.entries(results.dedup);
  if (dedup.length > 0) {
    const rows = dedup.map(([name, each]) => [
      name,
      show(each.rssBytes, 0),
      show(each.heldBytes, 0),
    ]);
    parts.push(table([["per live dedup id", "RSS B", "heap B"], ...rows]));
  }
  if (results.objects !== undefined) parts.push(objectsTable(results.objects));
  if (Object.keys(results.startup).length > 0 || results.fullStartup) {
    parts.push(startupTable(results));
  }
  const verdicts = judgeAll(results).map(({ target, measured, verdict }) => [
    target,
    measured ?? "-",
    verdict,
  ]);
  parts.push(table([["target", "measured", "verdict"], ...verdicts]));
  return parts.join("\n\n");
}
