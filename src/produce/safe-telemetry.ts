// Safe telemetry: enforces T1 of ports/telemetry.ts on custom telemetry of producers. An exception
// while a request is in flight would leave its rows without a result.

import type { Span, Telemetry } from "../ports/telemetry.ts";

const NOTHING: Span = { context: null, link() {}, end() {} };

/** The same telemetry, with every exception swallowed; undefined stays undefined. */
export function safeTelemetry<T extends Telemetry | undefined>(telemetry: T): T | Telemetry {
  if (telemetry === undefined) return telemetry;
  return {
    count: (...given) => attempt(() => telemetry.count(...given)),
    record: (...given) => attempt(() => telemetry.record(...given)),
    gauge: (...given) => attempt(() => telemetry.gauge(...given)),
    log: (...given) => attempt(() => telemetry.log(...given)),
    span(name, options) {
      let span = NOTHING;
      attempt(() => {
        span = telemetry.span(name, options);
      });
      const { context } = span;
      return {
        context,
        link: (...given) => attempt(() => span.link(...given)),
        end: (outcome) => attempt(() => span.end(outcome)),
      };
    },
  };
}

function attempt(report: () => void): void {
  try {
    report();
  } catch {
    // Telemetry itself failed, so there is nowhere to report it.
  }
}
