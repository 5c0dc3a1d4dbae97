// Guard telemetry: enforces T1 of ports/telemetry.ts on custom telemetry. A wrong count is a
// nuisance; a record left unsettled because telemetry threw would be a loss.

import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { SILENT } from "./silent-telemetry.ts";

/** The same telemetry, with every exception swallowed. */
export function guardTelemetry(telemetry: Telemetry): Telemetry {
  return {
    count: (name, by, labels) => quietly(() => telemetry.count(name, by, labels)),
    record: (name, value, labels, trace) =>
      quietly(() => telemetry.record(name, value, labels, trace)),
    gauge: (name, value, labels) => quietly(() => telemetry.gauge(name, value, labels)),
    log: (level, message, fields) => quietly(() => telemetry.log(level, message, fields)),
    span(name, options) {
      try {
        return guardSpan(telemetry.span(name, options));
      } catch {
        return SILENT.span(name, options);
      }
    },
  };
}

function guardSpan(span: Span): Span {
  return {
    context: span.context,
    link: (context, attributes) => quietly(() => span.link(context, attributes)),
    end: (outcome) => quietly(() => span.end(outcome)),
  };
}

function quietly(report: () => void): void {
  try {
    report();
  } catch {
    // Telemetry itself failed, so there is nowhere to report it.
  }
}
