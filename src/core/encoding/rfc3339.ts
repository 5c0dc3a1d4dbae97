// RFC 3339 instants, parsed strictly and written in one form.
//   R1. An instant has a date, a time with seconds, and an offset. Local times, short forms, 24:00
//       and days that are not in the calendar are rejected: Date.parse would guess.
//   R2. epochMs is epochNs rounded down. The numbers drop digits beyond nanoseconds; `text` keeps
//       everything.
//   R3. A leap second (23:59:60 UTC at the end of a month) is clamped to the last nanosecond of
//       second 59 and flagged, so that it still sorts after everything before it.
//   R4. Every parsed instant can be written again: UTC years 0000 to 9999.
// It does not check which leap seconds were really announced: that list grows after a release.

import { TidegateError } from "../errors.ts";
import { type EpochMs, epochMs } from "../units.ts";

export interface Instant {
  readonly kind: "instant";
  readonly epochMs: EpochMs;
  readonly epochNs: bigint;
  /** Null for "-00:00": the instant is known, the local offset is not. */
  readonly offsetMinutes: number | null;
  readonly leapSecond: boolean;
  /** The original text. */
  readonly text: string;
}

export type ParsedInstant = Instant | { readonly kind: "invalid"; readonly reason: string };

const MS_PER_SECOND = 1_000;
const MS_PER_MINUTE = 60_000;
const MS_PER_HOUR = 3_600_000;
const MS_PER_DAY = 86_400_000;
const NS_PER_MS = 1_000_000n;
const NS_DIGITS = 9;

// The calendar repeats every 400 years, an era. Counting years from March puts the leap day at the
// end, where it shifts no month, and makes the lengths of months a straight line of slope 153/5.
const DAYS_PER_ERA = 146_097;
const YEARS_PER_ERA = 400;
/** Days from 0000-03-01 to 1970-01-01. */
const EPOCH_DAY = 719_468;

/** 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: the range of the format (R4). */
export const INSTANT_MS_MIN: EpochMs = epochMs(daysFromCivil(0, 1, 1) * MS_PER_DAY);
export const INSTANT_MS_MAX: EpochMs = epochMs(daysFromCivil(10_000, 1, 1) * MS_PER_DAY - 1);

/** Longer texts are rejected without parsing. */
export const INSTANT_TEXT_UNITS_MAX = 64;

const SHAPE =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** Parses one instant; returns a reason for anything that RFC 3339 does not allow. */
export function parseInstant(text: string): ParsedInstant {
  if (text.length > INSTANT_TEXT_UNITS_MAX) return invalid("is too long for an instant");
  const match = SHAPE.exec(text);
  if (match === null) {
    return invalid("is not YYYY-MM-DDTHH:MM:SS with an offset (Z or +HH:MM)"); // R1
  }
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4]);
  const minute = Number(match[5]);
  const second = Number(match[6]);
  if (month < 1 || month > 12) return invalid(`has no month ${match[2]}`);
  if (day < 1 || day > daysInMonth(year, month)) {
    return invalid(`names day ${match[3]}, which that month does not have`);
  }
  if (hour > 23 || minute > 59 || second > 60) return invalid("has no such time of day");
  const offset = readOffset(match[8], match[9], match[10]);
  if (offset === undefined) return invalid("has no such offset");
  const leapSecond = second === 60;
  const wholeMs =
    daysFromCivil(year, month, day) * MS_PER_DAY +
    hour * MS_PER_HOUR +
    (minute - (offset ?? 0)) * MS_PER_MINUTE +
    (leapSecond ? 59 : second) * MS_PER_SECOND;
  if (wholeMs < INSTANT_MS_MIN || wholeMs > INSTANT_MS_MAX) {
    return invalid("lies outside the years 0000 to 9999"); // R4
  }
  if (leapSecond && !endsMonth(wholeMs)) {
    return invalid("has second 60 where no leap second can be"); // R3
  }
  const fraction = leapSecond ? "9".repeat(NS_DIGITS) : (match[7] ?? "");
  const fractionNs = BigInt(fraction.slice(0, NS_DIGITS).padEnd(NS_DIGITS, "0"));
  return {
    kind: "instant",
    epochMs: epochMs(wholeMs + Number(fractionNs / NS_PER_MS)), // R2: the fraction is positive.
    epochNs: BigInt(wholeMs) * NS_PER_MS + fractionNs,
    offsetMinutes: offset,
    leapSecond,
    text,
  };
}

/** The only written form: UTC with milliseconds, `2026-11-15T08:00:00.000Z`. */
export function formatInstant(at: EpochMs): string {
  if (!Number.isInteger(at) || at < INSTANT_MS_MIN || at > INSTANT_MS_MAX) {
    throw new TidegateError("TG_VALUE_INVALID", `${at} ms is not within the years 0 to 9999`);
  }
  const days = Math.floor(at / MS_PER_DAY);
  const inDay = at - days * MS_PER_DAY;
  const { year, month, day } = civilFromDays(days);
  const hour = Math.floor(inDay / MS_PER_HOUR);
  const minute = Math.floor(inDay / MS_PER_MINUTE) % 60;
  const second = Math.floor(inDay / MS_PER_SECOND) % 60;
  const date = `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
  return `${date}T${pad(hour, 2)}:${pad(minute, 2)}:${pad(second, 2)}.${pad(inDay % 1_000, 3)}Z`;
}

/** Minutes east of UTC, null for "-00:00", undefined for an invalid offset. */
function readOffset(
  sign: string | undefined,
  hours: string | undefined,
  minutes: string | undefined,
): number | null | undefined {
  if (sign === undefined) return 0;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const total = Number(hours) * 60 + Number(minutes);
  if (sign === "-") return total === 0 ? null : -total;
  return total;
}

/** Whether this second is the last regular one of a month in UTC. */
function endsMonth(wholeMs: number): boolean {
  const next = wholeMs + MS_PER_SECOND;
  return next % MS_PER_DAY === 0 && civilFromDays(next / MS_PER_DAY).day === 1;
}

function daysInMonth(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

function daysFromCivil(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const era = Math.floor(marchYear / YEARS_PER_ERA);
  const yearOfEra = marchYear - era * YEARS_PER_ERA;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  return era * DAYS_PER_ERA + yearOfEra * 365 + leapDays + dayOfYear - EPOCH_DAY;
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + EPOCH_DAY;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  // Remove the leap days before this day: one per 4 years, none per century, one per era.
  const leapDays =
    Math.floor(dayOfEra / 1_460) - Math.floor(dayOfEra / 36_524) + Math.floor(dayOfEra / 146_096);
  const yearOfEra = Math.floor((dayOfEra - leapDays) / 365);
  const yearStart = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100);
  const dayOfYear = dayOfEra - yearStart;
  const marchMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * marchMonth + 2) / 5) + 1;
  const month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9;
  const year = era * YEARS_PER_ERA + yearOfEra + (month <= 2 ? 1 : 0);
  return { year, month, day };
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

function invalid(reason: string): ParsedInstant {
  return { kind: "invalid", reason };
}
