// Silent telemetry: discards everything.

import type { Span, Telemetry } from "../../ports/telemetry.ts";

/** A span that records nothing. */
export const NO_SPAN: Span = { context: null, link() {}, end() {} };

export const SILENT: Telemetry = {
  count() {},
  record() {},
  gauge() {},
  log() {},
  span: () => NO_SPAN,
};
