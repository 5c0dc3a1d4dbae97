// Words: parts of sentences that the rules share.

import { type DurationMs, days, durationMs, hours, minutes, seconds } from "../../core/units.ts";

export function typeName(fifo: boolean): string {
  return fifo ? "FIFO" : "standard";
}

/** The last part of an ARN or URL. */
export function nameIn(arn: string): string {
  return arn.split(/[:/]/).at(-1) || arn;
}

/** The span in the largest unit that divides it. */
export function spanText(span: number): string {
  for (const [unit, ms] of UNITS) {
    if (span < ms || span % ms !== 0) continue;
    const count = durationMs(span) / ms;
    return `${count} ${unit}${count === 1 ? "" : "s"}`;
  }
  return `${span} ms`;
}

const UNITS: readonly (readonly [string, DurationMs])[] = [
  ["day", days(1)],
  ["hour", hours(1)],
  ["minute", minutes(1)],
  ["second", seconds(1)],
];
