// JSON log: one line per event of interest, each a JSON object.
//   J1. Writing a line never throws, whatever it is asked to say: odd values are written as text,
//       and a line that cannot be written at all is dropped.
//   J2. Every line has level, time (ISO 8601, UTC) and msg. A field that has one of these names
//       goes by another.
//   J3. A line is bounded: long texts are cut, and so is a list of fields without end.

import { type DestinationStream, destination, pino } from "pino";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { clampText } from "../core/encoding/text.ts";
import type { Clock } from "../ports/clock.ts";
import type { LogFields, LogLevel } from "../ports/telemetry.ts";

export interface LogOptions {
  /** The least level that is written; "info" unless said. */
  readonly level?: LogLevel;
  /** Standard output (1, unless said) or error (2), or whatever takes a line, its end included. */
  readonly to?: 1 | 2 | ((line: string) => void);
  /** On every line, unless the line says otherwise: run_id, the pipeline's name. */
  readonly fields?: LogFields;
}

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** J3. */
const FIELD_UNITS_MAX = 16_384;
const FIELDS_MAX = 100;

/** J2; and pino takes what has a socket, headers and a method for an HTTP request. */
const RESERVED = new Set(["level", "time", "msg", "socket"]);

export function createJsonLog(clock: Clock, options: LogOptions = {}): Log {
  const { level = "info", to = 1, fields: everywhere = {} } = options;
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${formatInstant(clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    typeof to === "number" ? openDescriptor(to) : { write: to },
  );
  return (told, message, fields) => {
    try {
      if (!logger.isLevelEnabled(told)) return;
      logger[told](plainFields(everywhere, fields), plainText(message));
    } catch {
      // J1: whoever logs has work to do, and nobody is left to be told.
    }
  };
}

/** Written at once, so that the last words before a crash are not lost. */
function openDescriptor(fd: 1 | 2): DestinationStream {
  const stream = destination({ fd, sync: true });
  stream.on("error", () => {}); // J1: a closed pipe must not end the process.
  return stream;
}

function plainFields(...groups: readonly (LogFields | undefined)[]): Record<string, unknown> {
  const plain = new Map<string, unknown>();
  for (const group of groups) {
    for (const name of Object.keys(group ?? {}).slice(0, FIELDS_MAX)) {
      const value = plainValue(group as LogFields, name);
      if (value === undefined) continue;
      plain.set(RESERVED.has(name) ? `field_${name}` : plainText(name), value); // J2
    }
  }
  return Object.fromEntries(plain);
}

/** Undefined for what is to be left out. */
function plainValue(group: LogFields, name: string): unknown {
  try {
    const value: unknown = group[name];
    if (value === null || value === undefined) return undefined;
    if (typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (value instanceof Error) return plainText(value.stack ?? value.message);
    return plainText(typeof value === "object" ? describe(value) : value);
  } catch (error) {
    return `[cannot be written: ${error instanceof Error ? error.message : "unknown"}]`; // J1
  }
}

function plainText(value: unknown): string {
  return clampText(String(value), FIELD_UNITS_MAX).toWellFormed();
}

/** As JSON, with a word for what JSON does not know. */
function describe(value: object): string {
  const seen = new Set<unknown>();
  const text = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member === "bigint") return member.toString();
    if (typeof member !== "object" || member === null) return member;
    if (seen.has(member)) return "[seen before]";
    seen.add(member);
    return member;
  });
  return text ?? String(value);
}
