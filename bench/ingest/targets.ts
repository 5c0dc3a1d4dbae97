// Targets: the figures that the project promises for ingestion, each with its measurement.
//   G1. A target whose part was left out is "not measured", never met.

import type { Verdict } from "../broker/targets.ts";
import type { DynamoResults } from "./dynamodb.ts";
import type { HttpResults } from "./http.ts";
import type { InProcessResults } from "./in-process.ts";
import type { MemoryResults } from "./memory.ts";

export interface IngestResults {
  http?: HttpResults;
  inProcess?: InProcessResults;
  dynamodb?: DynamoResults;
  memory?: MemoryResults;
}

/** Allowed growth of the resident size between the second and the last quarter of a run. */
const FLAT_MAX = 1.15;

function judge(
  target: string,
  value: number | undefined,
  holds: (value: number) => boolean,
): Verdict {
  if (value === undefined || Number.isNaN(value)) {
    return { target, measured: null, verdict: "not measured" }; // G1
  }
  const measured = value >= 100 ? value.toFixed(0) : value.toFixed(3);
  return { target, measured, verdict: holds(value) ? "met" : "missed" };
}

function over(http: HttpResults | undefined, peer: "batch" | "default"): number | undefined {
  const ours = http?.ours?.medianPerSecond;
  const theirs = http?.[peer]?.medianPerSecond;
  return ours === undefined || theirs === undefined ? undefined : ours / theirs;
}

/** All targets, in the order of the report. */
export function judgeIngest({ http, inProcess, dynamodb, memory }: IngestResults): Verdict[] {
  const writes =
    dynamodb === undefined || "missing" in dynamodb ? undefined : dynamodb.writesPerMessage;
  const rate = (name: "claim" | "table") => inProcess?.[name]?.medianPerSecond;
  return [
    judge("over HTTP, 1.5 times sqs-consumer's batch mode", over(http, "batch"), (v) => v >= 1.5),
    judge("over HTTP, 3 times sqs-consumer's default mode", over(http, "default"), (v) => v >= 3),
    judge("in process, 12,000 events/s", rate("claim"), (v) => v >= 12_000),
    judge("in process with a row each, 12,000 events/s", rate("table"), (v) => v >= 12_000),
    judge("SQS requests per message, 0.25", http?.ours?.requestsPerMessage, (v) => v <= 0.25),
    judge("DynamoDB writes per message, 1.1", writes, (v) => v <= 1.1),
    judge("memory flat over a million events", memory?.growth, (v) => v <= FLAT_MAX),
  ];
}
