// Export metrics: what the export of telemetry itself reports.

import type { MetricTable } from "../ports/telemetry.ts";

/** In the registry of every telemetry that exports. */
export const EXPORT_METRICS = {
  lost: {
    name: "tidegate_telemetry_lost_total",
    kind: "counter",
    help: "Spans, and exports of metrics, that the collector did not accept or that found no space.",
    labels: ["signal"],
  },
} as const satisfies MetricTable;
