// Fault specs: reads the faults that somebody asks for, from JSON or from code.
//   F1. All that is wrong is told at once, each with the place it stands at; then nothing is done.
//   F2. A fault that could never strike, or that AWS's service could never show, is wrong: reorder
//       is for standard queues, delayMs for "delay", actions for faults that hit requests.

import { type Result, refuseWith, succeed } from "../../../core/result.ts";
import type { FaultKind, FaultService, FaultSpec } from "../../model/fault-plan.ts";
import { S3_ACTIONS } from "../s3/s3-routes.ts";
import { SNS_ACTIONS } from "../sns/sns-actions.ts";
import { SQS_ACTIONS } from "../sqs/sqs-actions.ts";

/** How many faults one request may ask for. */
export const FAULTS_MAX = 100;
/** AWS delays a message by a quarter of an hour at the most; a fault may do the same. */
export const FAULT_DELAY_MS_MAX = 900_000;
const COUNT_MAX = 1_000_000_000;

type Fields = Readonly<Record<string, unknown>>;
type Tell = (path: string, message: string) => void;

/** What a kind may be aimed at, and whether it hits requests (rather than messages). */
const KINDS: Readonly<
  Record<FaultKind, { readonly aims: readonly FaultService[]; readonly request: boolean }>
> = {
  duplicate: { aims: ["queue", "topic", "bucket"], request: false },
  reorder: { aims: ["queue"], request: false },
  delay: { aims: ["queue", "topic", "bucket"], request: false },
  "drop-acknowledgement": { aims: ["queue", "topic", "bucket"], request: true },
  unavailable: { aims: ["queue", "topic", "bucket"], request: true },
  throttle: { aims: ["queue", "topic", "bucket"], request: true },
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
    return refuseWith([`There are more than ${FAULTS_MAX} faults.`]);
  }
  for (const [index, each] of list.entries()) {
    const place = Array.isArray(value) ? `faults[${index}]` : "fault";
    checkFault(each, (path, message) => problems.push(`${place}${path}: ${message}`)); // F1
  }
  if (problems.length > 0) return refuseWith(problems);
  return succeed(list as FaultSpec[]);
}

function checkFault(value: unknown, tell: Tell): void {
  if (!isObject(value)) {
    tell("", "A fault is an object.");
    return;
  }
  for (const name of Object.keys(value)) {
    if (!FIELDS.includes(name)) tell(`.${name}`, `There is no such field; ${list(FIELDS)} are.`);
  }
  const { kind, probability, seed, count } = value;
  const known = typeof kind === "string" && Object.hasOwn(KINDS, kind);
  if (!known) tell(".kind", `The kind is one of ${list(Object.keys(KINDS))}, not ${shown(kind)}.`);
  if (!(typeof probability === "number" && probability >= 0 && probability <= 1)) {
    tell(".probability", `The probability is a number from 0 to 1, not ${shown(probability)}.`);
  }
  if (seed !== undefined && !Number.isSafeInteger(seed)) {
    tell(".seed", `The seed is a whole number, not ${shown(seed)}.`);
  }
  if (count !== undefined && !isWhole(count, 1, COUNT_MAX)) {
    tell(".count", `The count is a whole number from 1 to ${COUNT_MAX}, not ${shown(count)}.`);
  }
  const service = checkTarget(value.target, tell);
  if (known) checkFit(kind as FaultKind, service, value, tell);
}

function checkTarget(target: unknown, tell: Tell): FaultService | null {
  const services = Object.keys(ACTION_NAMES) as FaultService[];
  const named = isObject(target) ? Object.keys(target) : [];
  const service = services.find((each) => each === named[0]);
  const name = service === undefined ? undefined : (target as Fields)[service];
  if (named.length !== 1 || service === undefined || typeof name !== "string" || name === "") {
    tell(
      ".target",
      'The target is one of {"queue": NAME}, {"topic": NAME} and {"bucket": NAME}, ' +
        `NAME being "*" for all; not ${shown(target)}.`,
    );
    return null;
  }
  return service;
}

/** Whether the parts of a fault fit each other (F2). */
function checkFit(kind: FaultKind, service: FaultService | null, value: Fields, tell: Tell): void {
  const { aims, request } = KINDS[kind];
  if (service !== null && !aims.includes(service)) {
    tell(".target", `${kind} is for ${list(aims)} only, not for a ${service}.`);
  }
  const name = service === "queue" ? (value.target as { queue: string }).queue : "";
  if ((kind === "duplicate" || kind === "reorder") && name.endsWith(".fifo")) {
    tell(
      ".target",
      `A FIFO queue keeps its order and delivers no message twice within its visibility timeout, ` +
        `so that ${kind} is for standard queues only.`,
    );
  }
  const { delayMs, actions } = value;
  if (kind === "delay" && !isWhole(delayMs, 1, FAULT_DELAY_MS_MAX)) {
    const span = `a whole number from 1 to ${FAULT_DELAY_MS_MAX}`;
    tell(".delayMs", `A delay needs delayMs, ${span}, not ${shown(delayMs)}.`);
  }
  if (kind !== "delay" && delayMs !== undefined) {
    tell(".delayMs", `delayMs goes with "delay" only, not with "${kind}".`);
  }
  if (actions === undefined) return;
  if (!request) tell(".actions", `actions go with faults of requests only, not with "${kind}".`);
  else if (service !== null) checkActions(service, actions, tell);
}

function checkActions(service: FaultService, actions: unknown, tell: Tell): void {
  if (!Array.isArray(actions) || actions.length === 0) {
    tell(".actions", "actions is a list of at least one name of an action.");
    return;
  }
  for (const [index, name] of actions.entries()) {
    if (typeof name === "string" && ACTION_NAMES[service].includes(name)) continue;
    tell(`.actions[${index}]`, `There is no action ${shown(name)} on a ${service}.`);
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
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
