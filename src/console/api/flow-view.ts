// Flow view: one reading of the flow as nodes, hops and problems.

import type { QueueFigures } from "../../operate/cloud/embedded-cloud.ts";
import type { FlowFacts } from "../../operate/pages/flow-facts.ts";
import type { LedgerScope } from "../../operate/sources.ts";
import type { ApiSchema } from "./api-schema.ts";
import { problemsOf, stateOfNode } from "./flow-problems.ts";
import type { FlowRates } from "./flow-rates.ts";

type Flow = ApiSchema["Flow"];
type FlowHop = ApiSchema["FlowHop"];
type FlowMetrics = ApiSchema["FlowMetrics"];
type FlowNode = ApiSchema["FlowNode"];

const NOTHING: FlowMetrics = {
  perSecond: null,
  total: null,
  backlog: null,
  inFlight: null,
  delayed: null,
  oldestAgeMs: null,
  retries: null,
  retriesPerSecond: null,
  duplicates: null,
  deadLetters: null,
  deadLettersMore: false,
  watermark: null,
  completeUpTo: null,
};

export function flowView(
  scope: LedgerScope | null,
  facts: FlowFacts,
  rates: FlowRates,
  at: number,
): Flow {
  const problems = problemsOf(facts, rates);
  const nodes = nodesOf(scope, facts, rates).map((node): FlowNode => {
    const state = node.isReported ? stateOfNode(node.id, problems) : "unknown";
    return { id: node.id, name: node.name, title: node.title, state, metrics: node.metrics };
  });
  return {
    at,
    pipeline: scope?.pipeline ?? null,
    generation: scope?.generation ?? 0,
    nodes,
    hops: hopsOf(nodes, rates),
    problems,
    paused: facts.paused,
  };
}

type DraftNode = Omit<FlowNode, "state"> & { readonly isReported: boolean };

function nodesOf(scope: LedgerScope | null, facts: FlowFacts, rates: FlowRates): DraftNode[] {
  const { bucket, topic, queue, deadLetters, consumer, parked } = facts;
  const arrived = { ...NOTHING, perSecond: rates.arrived };
  const nodes: (DraftNode | null)[] = [
    bucket === null ? null : draft("bucket", bucket, "S3 bucket", arrived),
    topic === null ? null : draft("topic", topic, "SNS topic", arrived),
    queue === null
      ? draft("queue", "", "SQS queue", NOTHING, false)
      : draft("queue", queue.name, "SQS queue", { ...arrived, ...queueMetrics(queue) }),
    draft("pipeline", scope?.pipeline ?? "", "pipeline", pipelineMetrics(facts, rates)),
    draft("sink", facts.sink ?? "", "sink", sinkMetrics(facts, rates), consumer !== null),
    draft("dead-letters", deadLetters?.name ?? "", "dead letters", {
      ...NOTHING,
      ...(deadLetters === null ? {} : queueMetrics(deadLetters)),
      perSecond: rates.deadLetters,
      total: consumer?.deadLettered ?? null,
      deadLetters: parked?.count ?? null,
      deadLettersMore: parked?.more ?? false,
    }),
  ];
  return nodes.filter((node) => node !== null);
}

function draft(
  id: FlowNode["id"],
  name: string,
  title: string,
  metrics: FlowMetrics,
  isReported = true,
): DraftNode {
  return { id, name, title, metrics, isReported };
}

function queueMetrics({ visible, delayed, inFlight, oldestAgeMs }: QueueFigures) {
  return { backlog: visible + delayed, delayed, inFlight, oldestAgeMs };
}

function pipelineMetrics(facts: FlowFacts, rates: FlowRates): FlowMetrics {
  const { consumer, watermark, completeUpTo } = facts;
  return {
    ...NOTHING,
    perSecond: rates.received,
    total: consumer?.received ?? null,
    inFlight: consumer?.inFlight ?? null,
    retries: consumer?.retried ?? null,
    retriesPerSecond: rates.retries,
    duplicates: consumer?.duplicates ?? null,
    watermark,
    completeUpTo,
  };
}

function sinkMetrics({ consumer }: FlowFacts, rates: FlowRates): FlowMetrics {
  return { ...NOTHING, perSecond: rates.applied, total: consumer?.committed ?? null };
}

const LINE: readonly FlowNode["id"][] = ["bucket", "topic", "queue", "pipeline", "sink"];

/** The line from the first node to the sink, and the branch to the dead letters. */
function hopsOf(nodes: readonly FlowNode[], rates: FlowRates): FlowHop[] {
  const ids = LINE.filter((id) => nodes.some((node) => node.id === id));
  const rateInto = { topic: rates.arrived, queue: rates.arrived, pipeline: rates.received };
  const hops = ids.slice(1).map((to, at): FlowHop => {
    const perSecond = to === "sink" ? rates.applied : rateInto[to as keyof typeof rateInto];
    return { from: ids[at] as string, to, perSecond };
  });
  return [...hops, { from: "pipeline", to: "dead-letters", perSecond: rates.deadLetters }];
}
