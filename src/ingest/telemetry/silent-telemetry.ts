// Silent telemetry: discards everything.

import type { Span, Telemetry } from "../../ports/telemetry.ts";

const NO_SPAN: Span = { context: null, end() {} };

export const SILENT: Telemetry = {
  count() {},
  record() {},
  gauge() {},
  log() {},
  span: () => NO_SPAN,
};
