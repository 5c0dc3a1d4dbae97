// Time flag: an instant on the command line, with its zone.

import { parseInstant } from "../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../core/units.ts";
import { type Flag, UsageError } from "../command.ts";

export function timeFlag(doc: string): Flag<EpochMs> {
  return {
    value: "TIME",
    fallback: null,
    doc,
    parse(given, name) {
      const parsed = parseInstant(String(given));
      if (parsed.kind === "instant") return parsed.epochMs;
      const example = "2026-03-01T00:00:00Z";
      throw new UsageError(
        `--${name} must be a time with a zone such as ${example}, not "${given}"`,
      );
    },
  };
}
