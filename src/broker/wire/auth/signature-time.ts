// Signature time: the date of a signature, as the header X-Amz-Date has it: 20261119T214230Z.

import { parseHttpDate } from "../../../core/encoding/http-date.ts";
import { formatInstant, parseInstant } from "../../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../../core/units.ts";

const BASIC_DATE = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;

/** The moment of a date in the basic form; null if it has another form. */
export function parseBasicDate(text: string): EpochMs | null {
  const digits = BASIC_DATE.exec(text);
  if (digits === null) return null;
  const [, year, month, day, hour, minute, second] = digits;
  const instant = parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return instant.kind === "invalid" ? null : instant.epochMs;
}

export function formatBasicDate(at: EpochMs): string {
  return formatInstant(at).replace(/\.\d+/, "").replace(/[-:]/g, "");
}

/** The date of a request in the basic form: X-Amz-Date, else Date. */
export function dateOf(headers: Readonly<Record<string, string | undefined>>): string | null {
  const { "x-amz-date": own, date } = headers;
  if (own !== undefined) return own;
  const at = date === undefined ? null : parseHttpDate(date);
  return at === null ? null : formatBasicDate(at);
}
