// Format: numbers and times as text.
//   F1. Times are UTC, as the command line prints them, so that both can be compared.
//   F2. A value that is not available is a dash. It is never shown as zero.

const DASH = "–";
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

type Maybe<T> = T | null | undefined;

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

/** 1234567 -> "1,234,567" */
export function countText(value: Maybe<number>): string {
  return value == null ? DASH : whole.format(value);
}

/** Events per second, with few digits. */
export function rateText(perSecond: Maybe<number>): string {
  if (perSecond == null) return DASH;
  if (perSecond !== 0 && perSecond < 0.05) return `${short.format(perSecond * 60)}/min`;
  return `${short.format(perSecond)}/s`;
}

/** 75_000 -> "1 min 15 s" */
export function durationText(ms: Maybe<number>): string {
  if (ms == null) return DASH;
  const value = Math.max(0, ms);
  if (value < SECOND_MS) return `${Math.round(value)} ms`;
  if (value < 10 * SECOND_MS) return `${short.format(value / SECOND_MS)} s`;
  if (value < MINUTE_MS) return `${Math.floor(value / SECOND_MS)} s`;
  if (value < HOUR_MS) return pair(value, MINUTE_MS, "min", SECOND_MS, "s");
  if (value < DAY_MS) return pair(value, HOUR_MS, "h", MINUTE_MS, "min");
  return pair(value, DAY_MS, "d", HOUR_MS, "h");
}

function pair(value: number, bigMs: number, big: string, smallMs: number, small: string): string {
  const rest = Math.floor((value % bigMs) / smallMs);
  const head = `${Math.floor(value / bigMs)} ${big}`;
  return rest === 0 ? head : `${head} ${rest} ${small}`;
}

/** "2026-03-02 12:04:05" in UTC (F1). */
export function timeText(at: Maybe<number>): string {
  if (at == null) return DASH;
  return new Date(at).toISOString().slice(0, "2026-03-02T12:04:05".length).replace("T", " ");
}

/** With milliseconds, for timelines. */
export function exactTimeText(at: Maybe<number>): string {
  return at == null ? DASH : new Date(at).toISOString().replace("T", " ").replace("Z", "");
}

/** "12:04" in UTC, for the axis of a chart. */
export function clockText(at: number): string {
  return new Date(at).toISOString().slice("2026-03-02T".length, "2026-03-02T12:04".length);
}

/** "3 min ago"; `now` is the time of the server, not of the browser. */
export function agoText(at: Maybe<number>, now: number): string {
  return at == null ? DASH : `${durationText(now - at)} ago`;
}

export function bytesText(bytes: Maybe<number>): string {
  if (bytes == null) return DASH;
  const units = ["B", "KB", "MB", "GB", "TB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(value) : short.format(value)} ${units[unit]}`;
}

/** "1 record", "2 records" */
export function amountText(count: number, one: string, many = `${one}s`): string {
  return `${whole.format(count)} ${count === 1 ? one : many}`;
}

/** The first letter in upper case; clauses of the API start with a small one. */
export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** JSON with indentation; a text stays as it is, and JSON inside of a text is indented too. */
export function jsonText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2) ?? DASH;
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
