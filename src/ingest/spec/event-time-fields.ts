// Event-time fields: validates the fields of a pipeline that concern event time and late data. The
// pipeline may have been written without types.

import { isObject } from "../../core/is-object.ts";
import type { LatePolicy } from "./event-facts.ts";
import { unknownFields } from "./spec-fields.ts";

const LATE: Readonly<Record<keyof Exclude<LatePolicy, string>, true>> = { queue: true };
const POLICIES: readonly unknown[] = [undefined, "process", "hold"];

export function timeProblems(spec: object): string[] {
  const { eventTime, partition, outOfOrderMs, allowedLatenessMs, late, source } = spec as Readonly<
    Record<string, unknown>
  >;
  const problems: string[] = [];
  const check = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  check(isFunction(eventTime), "eventTime must be a function of the event");
  check(isFunction(partition), "partition must be a function of the event");
  check(isSpan(outOfOrderMs), "outOfOrderMs must be 0 or more");
  check(isSpan(allowedLatenessMs), "allowedLatenessMs must be 0 or more");
  const twice = eventTime !== undefined && isObject(source) && source.eventTime !== undefined;
  check(!twice, "eventTime is also in source; keep one of the two");
  problems.push(...lateProblems(late));
  return problems;
}

function lateProblems(late: unknown): string[] {
  if (POLICIES.includes(late)) return [];
  if (!isObject(late)) return ['late must be "process", "hold" or { queue: "name" }'];
  const { queue } = late;
  const unnamed = typeof queue !== "string" || queue === "";
  return [
    ...unknownFields("late", late, LATE),
    ...(unnamed ? ["late.queue must name a queue"] : []),
  ];
}

function isFunction(value: unknown): boolean {
  return value === undefined || typeof value === "function";
}

function isSpan(value: unknown): boolean {
  return value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0);
}
