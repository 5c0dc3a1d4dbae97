// JSON log: one JSON object per line.
//   J1. Logging never throws, whatever the values: odd values are written as text, and a line that
//       cannot be written is dropped.
//   J2. Every line has level, time (ISO 8601, UTC) and msg. A field with one of these names is
//       renamed.
//   J3. A line is bounded: long texts are cut, and so is an endless list of fields.
//   J4. A line contains no character that a terminal obeys, since stderr often is one.

import { type DestinationStream, destination, pino } from "pino";
import { printable } from "../core/encoding/printable.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { clampText } from "../core/encoding/text.ts";
import type { Clock } from "../ports/clock.ts";
import type { LogFields, LogLevel } from "../ports/telemetry.ts";

/** Where log lines go, and which. */
export interface LogOptions {
  /** The lowest level that is written. Default: "info". */
  readonly level?: LogLevel;
  /** Standard output (1), error (2), or a function that gets each line. Default: 1. */
  readonly to?: 1 | 2 | ((line: string) => void);
  /** Fields of every line, such as run_id; fields of the line override them. */
  readonly fields?: LogFields;
}

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

/** J3 */
const FIELD_UNITS_MAX = 16_384;
const FIELDS_MAX = 100;

/** J2. Pino also treats an object with socket, headers and method as an HTTP request. */
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
    safely(typeof to === "number" ? openDescriptor(to) : { write: to }),
  );
  return (lineLevel, message, fields) => {
    try {
      if (!logger.isLevelEnabled(lineLevel)) return;
      logger[lineLevel](plainFields(everywhere, fields), plainText(message));
    } catch {
      // J1: the caller must continue, and there is nowhere left to report it.
    }
  };
}

/** J4. JSON itself escapes only C0. */
function safely(stream: DestinationStream): DestinationStream {
  return { write: (line) => stream.write(printable(line)) };
}

/** Written synchronously, so that the last lines before a crash are not lost. */
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

/** Undefined for fields that are omitted. */
function plainValue(group: LogFields, name: string): unknown {
  try {
    const value: unknown = group[name];
    if (value === null || value === undefined) return undefined;
    if (typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) ? value : String(value);
    if (value instanceof Error) return plainText(value.stack ?? value.message);
    return plainText(typeof value === "object" ? describe(value) : value);
  } catch (error) {
    return `[unprintable: ${error instanceof Error ? error.message : "unknown"}]`; // J1
  }
}

function plainText(value: unknown): string {
  return clampText(String(value), FIELD_UNITS_MAX).toWellFormed();
}

/** As JSON, with text for values that JSON lacks. */
function describe(value: object): string {
  const visited = new Set<unknown>();
  const text = JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member === "bigint") return member.toString();
    if (typeof member !== "object" || member === null) return member;
    if (visited.has(member)) return "[repeated]";
    visited.add(member);
    return member;
  });
  return text ?? String(value);
}
