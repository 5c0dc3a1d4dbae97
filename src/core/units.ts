// Units: numbers with a unit, so that an instant is never added to an instant and seconds never mix
// with milliseconds.
//   U1. Every instant inside Tidegate is EpochMs, every span DurationMs; both are whole numbers.
//   U2. Seconds exist only where external interfaces use them (broker/wire, aws).

declare const unit: unique symbol;

/** An instant: whole milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number & { readonly [unit]: "EpochMs" };

/** A span of time in whole milliseconds. */
export type DurationMs = number & { readonly [unit]: "DurationMs" };

/** A size in bytes. */
export type Bytes = number & { readonly [unit]: "Bytes" };

export function epochMs(value: number): EpochMs {
  return value as EpochMs;
}

export function durationMs(value: number): DurationMs {
  return value as DurationMs;
}

export function bytes(value: number): Bytes {
  return value as Bytes;
}

export function seconds(value: number): DurationMs {
  return (value * 1_000) as DurationMs;
}

export function minutes(value: number): DurationMs {
  return (value * 60_000) as DurationMs;
}

export function hours(value: number): DurationMs {
  return (value * 3_600_000) as DurationMs;
}

export function days(value: number): DurationMs {
  return (value * 86_400_000) as DurationMs;
}

export function addMs(at: EpochMs, span: DurationMs): EpochMs {
  return (at + span) as EpochMs;
}

export function subtractMs(at: EpochMs, span: DurationMs): EpochMs {
  return (at - span) as EpochMs;
}

/** The span from `from` to `to`; negative if `to` is before `from`. */
export function msBetween(from: EpochMs, to: EpochMs): DurationMs {
  return (to - from) as DurationMs;
}
