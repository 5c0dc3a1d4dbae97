// Age flag: a span of time on the command line, such as 30s, 15m, 2h or 7d.

import { type DurationMs, durationMs } from "../../core/units.ts";
import { type Flag, UsageError } from "../command.ts";

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function age(doc: string, fallback: string | null = null): Flag<DurationMs> {
  return {
    value: "AGE",
    fallback,
    doc,
    parse(given, name) {
      const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(String(given)) ?? [];
      if (count !== undefined) return durationMs(Number(count) * UNITS[unit as keyof typeof UNITS]);
      throw new UsageError(`--${name} must be an age such as 30s, 15m, 2h or 7d, not "${given}"`);
    },
  };
}
