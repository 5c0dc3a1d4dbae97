// Flow problems: what an operator should look at first, worst first. Pure: one reading of the flow
// and its rates decide.
//   P1. A problem has a stable id, one clause as its title, and the fix.
//   P2. The limits of age are those of the service levels: half of 5 minutes from an event to its
//       effect is a warning, all of it an error.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { epochMs } from "../../core/units.ts";
import type { FlowFacts } from "../../operate/pages/flow-facts.ts";
import type { ApiSchema } from "./api-schema.ts";
import type { FlowRates } from "./flow-rates.ts";

type FlowNode = ApiSchema["FlowNode"];
type FlowProblem = ApiSchema["Problem"];

const MINUTE_MS = 60_000;
/** P2 */
const AGE_ERROR_MS = 5 * MINUTE_MS;
const AGE_WARNING_MS = AGE_ERROR_MS / 2;
const LAG_WARNING_MS = 60 * MINUTE_MS;

type NodeId = FlowNode["id"];

export function problemsOf(facts: FlowFacts, rates: FlowRates): FlowProblem[] {
  const problems = [
    ...storeProblems(facts),
    ...sourceProblems(facts),
    ...pauseProblems(facts),
    ...consumerProblems(facts, rates),
    ...deadLetterProblems(facts, rates),
    ...queueProblems(facts),
    ...timeProblems(facts),
  ];
  return problems.toSorted((a, b) => rank(a) - rank(b));
}

const rank = ({ severity }: FlowProblem) => (severity === "error" ? 0 : 1);

/** The state of a node: that of its worst problem. */
export function stateOfNode(id: NodeId, problems: readonly FlowProblem[]): FlowNode["state"] {
  const own = problems.filter(({ node }) => node === id);
  if (own.some(({ severity }) => severity === "error")) return "error";
  return own.length > 0 ? "warning" : "ok";
}

function storeProblems({ outage }: FlowFacts): FlowProblem[] {
  if (outage === null) return [];
  return [
    {
      id: "store-failing",
      severity: "error",
      node: "queue",
      title: "the store of the embedded cloud fails; requests get 503",
      detail: `Since ${formatInstant(epochMs(outage.since))}: ${outage.reason}`,
      fix: "Remove the cause; the cloud continues by itself, and what it acknowledged is kept.",
      view: "flow",
      query: "",
    },
  ];
}

function sourceProblems({ failures }: FlowFacts): FlowProblem[] {
  return failures.map((detail, at) => ({
    id: `no-answer-${at}`,
    severity: "error",
    node: "queue",
    title: "the console cannot read everything",
    detail,
    fix: "Check that the ledger and the queues answer; the numbers shown may be old.",
    view: "flow",
    query: "",
  }));
}

function pauseProblems({ paused }: FlowFacts): FlowProblem[] {
  if (paused === null) return [];
  const since = formatInstant(epochMs(paused.since));
  const by = paused.by === "" ? "" : ` by ${paused.by}`;
  const reason = paused.reason === "" ? "" : `: ${paused.reason}`;
  return [
    {
      id: "paused",
      severity: "warning",
      node: "pipeline",
      title: "the pipeline is paused and receives nothing",
      detail: `Paused since ${since}${by}${reason}`,
      fix: "Resume it here, or with tidegate pipeline resume, when the reason is gone.",
      view: "flow",
      query: "",
    },
  ];
}

function consumerProblems({ consumer, queue }: FlowFacts, rates: FlowRates): FlowProblem[] {
  if (consumer === null) return [];
  const problems: FlowProblem[] = [];
  if (consumer.breaker !== "closed") {
    problems.push({
      id: "breaker-open",
      severity: "error",
      node: "sink",
      title: "the sink or the ledger fails; receiving has stopped",
      detail: `The circuit breaker is ${consumer.breaker}. Messages wait in the queue.`,
      fix: "Check that the sink's database answers; the pipeline continues by itself.",
      view: "records",
      query: "outcome=retrying",
    });
  }
  if ((rates.retries ?? 0) > 0) {
    problems.push({
      id: "retries",
      severity: "warning",
      node: "pipeline",
      title: "attempts fail and are retried",
      detail: `${perMinute(rates.retries)} failed attempts per minute.`,
      fix: "Look at the failures of the records that are retried.",
      view: "records",
      query: "outcome=retrying",
    });
  }
  const waits = queue !== null && queue.visible > 0 && consumer.breaker === "closed";
  if (waits && rates.received === 0 && (queue.oldestAgeMs ?? 0) > MINUTE_MS) {
    problems.push({
      id: "nothing-received",
      severity: "error",
      node: "pipeline",
      title: "messages wait, and nothing is received",
      detail: `${queue.visible} messages are visible in ${queue.name}.`,
      fix: "Check the log of the pipeline: a handler may block, or its leases may have ended.",
      view: "queues",
      query: `queue=${encodeURIComponent(queue.name)}`,
    });
  }
  return problems;
}

function deadLetterProblems({ parked, deadLetters }: FlowFacts, rates: FlowRates): FlowProblem[] {
  const count = parked?.count ?? 0;
  const grows = (rates.deadLetters ?? 0) > 0;
  const moved = Math.max(0, (deadLetters?.visible ?? 0) - count);
  if (count === 0 && !grows && moved === 0) return [];
  const shown = `${parked?.more ? "more than " : ""}${Math.max(count, moved)}`;
  return [
    {
      id: "dead-letters",
      severity: grows ? "error" : "warning",
      node: "dead-letters",
      title: grows ? "records are being dead-lettered now" : `${shown} dead letters wait`,
      detail: `${shown} dead letters; ${perMinute(rates.deadLetters)} new ones per minute.`,
      fix: "Open the largest group, fix its cause, and redrive it.",
      view: "dead-letters",
      query: "",
    },
  ];
}

function queueProblems({ queue }: FlowFacts): FlowProblem[] {
  const ageMs = queue?.oldestAgeMs ?? 0;
  if (queue === null || ageMs < AGE_WARNING_MS) return []; // P2
  const minutes = Math.floor(ageMs / MINUTE_MS);
  return [
    {
      id: "old-messages",
      severity: ageMs >= AGE_ERROR_MS ? "error" : "warning",
      node: "queue",
      title: `the oldest message has waited ${minutes} minutes`,
      detail: `${queue.visible + queue.delayed} messages wait in ${queue.name}, ${queue.inFlight} are in flight.`,
      fix: "Add consumers, or find out what the pipeline waits for.",
      view: "queues",
      query: `queue=${encodeURIComponent(queue.name)}`,
    },
  ];
}

function timeProblems({ watermark, completeUpTo, heldBy }: FlowFacts): FlowProblem[] {
  if (watermark === null || completeUpTo === null) return [];
  if (watermark - completeUpTo < LAG_WARNING_MS) return [];
  const at = formatInstant(epochMs(completeUpTo));
  return [
    {
      id: "incomplete",
      severity: "warning",
      node: "pipeline",
      title: `complete only up to ${at}`,
      detail: heldBy ?? "Something older is not settled.",
      fix: "Redrive or drop the record that holds it back.",
      view: "time",
      query: "",
    },
  ];
}

function perMinute(perSecond: number | null): string {
  return perSecond === null ? "an unknown number of" : String(Math.ceil(perSecond * 60));
}
