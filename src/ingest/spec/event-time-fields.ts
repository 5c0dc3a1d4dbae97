// Event-time fields: validates the `eventTime` of a pipeline, which may have been written without
// types, and fills in its defaults.

import { isObject } from "../../core/is-object.ts";
import { durationMs, minutes } from "../../core/units.ts";
import type { EventTimeSettings, EventTimeSpec, LatePolicy } from "./event-facts.ts";
import { unknownFields } from "./spec-fields.ts";

export const OUT_OF_ORDER_MS_DEFAULT = minutes(10);
const EVENT_TIME: Readonly<Record<keyof EventTimeSpec, true>> = {
  of: true,
  partition: true,
  outOfOrderMs: true,
  allowedLatenessMs: true,
  late: true,
};
const LATE: Readonly<Record<keyof Exclude<LatePolicy, string>, true>> = { queue: true };
const POLICIES: readonly unknown[] = [undefined, "process", "hold"];

export function eventTimeOf(spec: EventTimeSpec<never> = {}): EventTimeSettings {
  const { of = null, partition = null, late = "process" } = spec;
  const allowedMs = spec.allowedLatenessMs ?? (late === "process" ? null : 0);
  return {
    of: of as EventTimeSettings["of"],
    partition: partition as EventTimeSettings["partition"],
    outOfOrderMs: durationMs(spec.outOfOrderMs ?? OUT_OF_ORDER_MS_DEFAULT),
    allowedLatenessMs: allowedMs === null ? null : durationMs(allowedMs),
    late,
  };
}

export function eventTimeProblems(eventTime: unknown, source: unknown): string[] {
  if (eventTime === undefined) return [];
  if (typeof eventTime === "function") return ["eventTime must be { of: (event) => ... }"];
  if (!isObject(eventTime)) return ["eventTime must be an object"];
  const { of, partition, outOfOrderMs, allowedLatenessMs, late } = eventTime;
  const problems = unknownFields("eventTime", eventTime, EVENT_TIME);
  const check = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  check(isFunction(of), "eventTime.of must be a function of the event");
  check(isFunction(partition), "eventTime.partition must be a function of the event");
  check(isSpan(outOfOrderMs), "eventTime.outOfOrderMs must be 0 or more");
  check(isSpan(allowedLatenessMs), "eventTime.allowedLatenessMs must be 0 or more");
  const twice = of !== undefined && isObject(source) && source.eventTime !== undefined;
  check(!twice, "eventTime.of is also in source, as eventTime; keep one of the two");
  problems.push(...lateProblems(late));
  return problems;
}

function lateProblems(late: unknown): string[] {
  if (POLICIES.includes(late)) return [];
  if (!isObject(late)) return ['eventTime.late must be "process", "hold" or { queue: "name" }'];
  const { queue } = late;
  const unnamed = typeof queue !== "string" || queue === "";
  return [
    ...unknownFields("eventTime.late", late, LATE),
    ...(unnamed ? ["eventTime.late.queue must name a queue"] : []),
  ];
}

function isFunction(value: unknown): boolean {
  return value === undefined || typeof value === "function";
}

function isSpan(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0);
}
