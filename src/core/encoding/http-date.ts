// HTTP dates (RFC 9110): "Sun, 06 Nov 1994 08:49:37 GMT", the only form still written.

import type { EpochMs } from "../units.ts";
import { formatInstant, parseInstant } from "./rfc3339.ts";

const DAYS = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // 1970-01-01 was a Thursday.
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const MS_PER_DAY = 86_400_000;
const DAYS_PER_WEEK = 7;

const SHAPE = /^[A-Za-z]{3}, (\d{2}) ([A-Za-z]{3}) (\d{4}) (\d{2}:\d{2}:\d{2}) GMT$/;

export function formatHttpDate(at: EpochMs): string {
  const [date, time] = formatInstant(at).split("T") as [string, string];
  const [year, month, day] = date.split("-") as [string, string, string];
  const days = Math.floor(at / MS_PER_DAY);
  const weekday = DAYS[((days % DAYS_PER_WEEK) + DAYS_PER_WEEK) % DAYS_PER_WEEK];
  return `${weekday}, ${day} ${MONTHS[Number(month) - 1]} ${year} ${time.slice(0, 8)} GMT`;
}

/** Null for text that is not a date: a condition without a valid date is ignored. */
export function parseHttpDate(text: string): EpochMs | null {
  const match = SHAPE.exec(text.trim());
  if (match === null) return null;
  const month = MONTHS.indexOf(match[2] as string) + 1;
  const padded = String(month).padStart(2, "0");
  const parsed = parseInstant(`${match[3]}-${padded}-${match[1]}T${match[4]}Z`);
  return parsed.kind === "instant" ? parsed.epochMs : null;
}
