// Guard telemetry: keeps T1 of ports/telemetry.ts for whoever brings telemetry of their own. What
// is counted wrongly is a nuisance; a record that is not settled because of it would be a loss.

import type { Span, Telemetry } from "../../ports/telemetry.ts";
import { SILENT } from "./silent-telemetry.ts";

/** The same telemetry, of which nothing throws. */
export function guardTelemetry(telemetry: Telemetry): Telemetry {
  return {
    count: (name, by, labels) => quietly(() => telemetry.count(name, by, labels)),
    record: (name, value, labels) => quietly(() => telemetry.record(name, value, labels)),
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
  return { context: span.context, end: (outcome) => quietly(() => span.end(outcome)) };
}

function quietly(tell: () => void): void {
  try {
    tell();
  } catch {
    // There is nobody left to tell.
  }
}
