// Watermark gauges: which partition holds the watermark back, as a metric.
//   G1. One series has the value 1, the one of the present holder. Names beyond HOLDERS_MAX share
//       one series, because every name is a time series of its own.

import type { Telemetry } from "../../ports/telemetry.ts";
import { OTHER_PARTITIONS } from "../policy/watermark.ts";
import { CONSUMER_METRICS as METRICS } from "../telemetry/metrics.ts";

const HOLDERS_MAX = 100;

export function createHolderGauge(
  telemetry: Telemetry,
  stream: string,
): (partition: string | null) => void {
  const names = new Set<string>();
  let shown: string | null = null;
  const write = (partition: string, value: number) =>
    telemetry.gauge(METRICS.heldBy.name, value, { stream, partition });
  return (partition) => {
    const name =
      partition === null || names.has(partition) || names.size < HOLDERS_MAX
        ? partition
        : OTHER_PARTITIONS; // G1
    if (name === shown) return;
    if (shown !== null) write(shown, 0);
    if (name !== null) {
      names.add(name);
      write(name, 1);
    }
    shown = name;
  };
}
