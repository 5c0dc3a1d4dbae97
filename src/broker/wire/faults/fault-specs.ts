// Fault specs: validates injected faults, from JSON or from code.
//   F1. All problems are reported together, each with its path; then no fault is added.
//   F2. A fault that could never fire, or that the AWS service could never show, is rejected:
//       reorder is for standard queues, delayMs for "delay", actions for faults of requests.

import { isObject } from "../../../core/is-object.ts";
import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { FaultKind, FaultService, FaultSpec } from "../../model/fault-plan.ts";
import { S3_ACTIONS } from "../s3/s3-routes.ts";
import { SNS_ACTIONS } from "../sns/sns-actions.ts";
import { SQS_ACTIONS } from "../sqs/sqs-actions.ts";

/** The most faults that one request may add. */
export const FAULTS_MAX = 100;
/** The same limit as for AWS's delay of a message. */
export const FAULT_DELAY_MS_MAX = 900_000;
const COUNT_MAX = 1_000_000_000;

type Fields = Readonly<Record<string, unknown>>;
type Report = (path: string, message: string) => void;

/** The targets that a kind may have, and whether it affects requests (rather than messages). */
const KINDS: Readonly<
  Record<FaultKind, { readonly targets: readonly FaultService[]; readonly request: boolean }>
> = {
  duplicate: { targets: ["queue", "topic", "bucket"], request: false },
  reorder: { targets: ["queue"], request: false },
  delay: { targets: ["queue", "topic", "bucket"], request: false },
  "drop-acknowledgement": { targets: ["queue", "topic", "bucket"], request: true },
  unavailable: { targets: ["queue", "topic", "bucket"], request: true },
  throttle: { targets: ["queue", "topic", "bucket"], request: true },
};

const FIELDS = ["kind", "target", "probability", "seed", "delayMs", "actions", "count"];

const ACTION_NAMES: Readonly<Record<FaultService, readonly string[]>> = {
  queue: SQS_ACTIONS.map(({ name }) => name),
  topic: SNS_ACTIONS.map(({ name }) => name),
  bucket: S3_ACTIONS.map(({ name }) => name),
};

export type ReadFaults = Result<readonly FaultSpec[], readonly string[]>;

/** Reads one fault or a list of them. */
export function readFaultSpecs(value: unknown): ReadFaults {
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  const problems: string[] = [];
  if (list.length > FAULTS_MAX) {
    return refuseWith([`${list.length} faults; at most ${FAULTS_MAX} are allowed`]);
  }
  for (const [index, each] of list.entries()) {
    const position = Array.isArray(value) ? `faults[${index}]` : "fault";
    checkFault(each, (path, message) => problems.push(`${position}${path}: ${message}`)); // F1
  }
  if (problems.length > 0) return refuseWith(problems);
  return succeed(list as FaultSpec[]);
}

function checkFault(value: unknown, report: Report): void {
  if (!isObject(value)) {
    report("", `${shown(value)} is not an object`);
    return;
  }
  for (const name of Object.keys(value)) {
    if (!FIELDS.includes(name)) report(`.${name}`, `unknown field; a fault has ${list(FIELDS)}`);
  }
  const { kind, probability, seed, count } = value;
  const valid = typeof kind === "string" && Object.hasOwn(KINDS, kind);
  if (!valid)
    report(".kind", `unknown kind ${shown(kind)}; use one of ${list(Object.keys(KINDS))}`);
  if (!(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    report(".probability", `${shown(probability)} is not a number from 0 to 1`);
  }
  if (seed !== undefined && !Number.isSafeInteger(seed)) {
    report(".seed", `${shown(seed)} is not a whole number`);
  }
  if (count !== undefined && !isWhole(count, 1, COUNT_MAX)) {
    report(".count", `${shown(count)} is not a whole number from 1 to ${COUNT_MAX}`);
  }
  const service = checkTarget(value.target, report);
  if (valid) checkFit(kind as FaultKind, service, value, report);
}

function checkTarget(target: unknown, report: Report): FaultService | null {
  const services = Object.keys(ACTION_NAMES) as FaultService[];
  const named = isObject(target) ? Object.keys(target) : [];
  const service = services.find((each) => each === named[0]);
  const name = service === undefined ? undefined : (target as Fields)[service];
  if (named.length !== 1 || service === undefined || typeof name !== "string" || name === "") {
    report(
      ".target",
      `${shown(target)} is not a target; use {"queue": NAME}, {"topic": NAME} or ` +
        `{"bucket": NAME}, with "*" as NAME for all`,
    );
    return null;
  }
  return service;
}

/** Checks that the fields of a fault go together (F2). */
function checkFit(
  kind: FaultKind,
  service: FaultService | null,
  value: Fields,
  report: Report,
): void {
  const { targets, request } = KINDS[kind];
  if (service !== null && !targets.includes(service)) {
    report(".target", `${kind} does not apply to a ${service}, only to ${list(targets)}`);
  }
  const name = service === "queue" ? (value.target as { queue: string }).queue : "";
  if ((kind === "duplicate" || kind === "reorder") && name.endsWith(".fifo")) {
    report(
      ".target",
      `${kind} applies to standard queues only: a FIFO queue keeps its order and delivers no ` +
        `message twice within its visibility timeout`,
    );
  }
  const { delayMs, actions } = value;
  if (kind === "delay" && !isWhole(delayMs, 1, FAULT_DELAY_MS_MAX)) {
    const span = `a whole number from 1 to ${FAULT_DELAY_MS_MAX}`;
    report(".delayMs", `${shown(delayMs)} is not ${span}, which kind "delay" needs`);
  }
  if (kind !== "delay" && delayMs !== undefined) {
    report(".delayMs", `only kind "delay" has delayMs, not "${kind}"`);
  }
  if (actions === undefined) return;
  if (!request) report(".actions", `only faults of requests have actions, not "${kind}"`);
  else if (service !== null) checkActions(service, actions, report);
}

function checkActions(service: FaultService, actions: unknown, report: Report): void {
  if (!Array.isArray(actions) || actions.length === 0) {
    report(".actions", `${shown(actions)} is not a list of at least one action name`);
    return;
  }
  for (const [index, name] of actions.entries()) {
    if (typeof name === "string" && ACTION_NAMES[service].includes(name)) continue;
    report(`.actions[${index}]`, `unknown action ${shown(name)} on a ${service}`);
  }
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}

function list(names: readonly string[]): string {
  return names.length === 1
    ? `${names[0]}`
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function shown(value: unknown): string {
  return value === undefined ? "nothing" : (JSON.stringify(value) ?? String(value)).slice(0, 100);
}
