// Workload: the messages that every contestant gets, and what its handler does. Handlers do almost
// nothing, so that the benchmark measures everything around them.

import { buildEnvelope } from "../../src/core/events/envelope.ts";
import { epochMs } from "../../src/core/units.ts";
import { type Pipeline, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";

export const WORKLOADS = ["claim", "receipt", "table", "objects"] as const;
/**
 * claim: messages to a handler without a sink, each claimed and committed, which is the default;
 * receipt: the same with lease "receipt", one write per message;
 * table: messages to one row each, joined to the commit, which is the default with tables;
 * objects: S3 events to one row each, with the object's sequencer stored.
 */
export type Workload = (typeof WORKLOADS)[number];

const START_MS = 1_790_000_000_000;
const TABLES = {
  observations: { columns: { station: "text", celsius: "real" }, key: ["station"] },
} as const;

/** The body of message `n`: unique, and the same in every run of the benchmark. */
export function bodyOf(workload: Workload, n: number): string {
  return workload === "objects" ? notificationOf(n) : envelopeOf(n);
}

function envelopeOf(n: number): string {
  const built = buildEnvelope({
    source: "bench.ingest.load",
    dedupeKey: `station-${n}`,
    eventTime: epochMs(START_MS + n),
    payload: { station: `station-${n}`, celsius: (n % 400) / 10, note: "x".repeat(64) },
  });
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  return built.value.body;
}

function notificationOf(n: number): string {
  const object = {
    key: `observations/2026/station-${n}.csv`,
    size: 1_024,
    eTag: "d41d8cd98f00b204e9800998ecf8427e",
    sequencer: (START_MS + n).toString(16).toUpperCase().padStart(16, "0"),
  };
  const record = {
    eventVersion: "2.6",
    eventSource: "aws:s3",
    awsRegion: "us-east-1",
    eventTime: new Date(START_MS + n).toISOString(),
    eventName: "ObjectCreated:Put",
    userIdentity: { principalId: "AWS:AIDAEXAMPLE" },
    requestParameters: { sourceIPAddress: "192.0.2.1" },
    responseElements: { "x-amz-request-id": "D82B88E5F771F645", "x-amz-id-2": "vlR7PnpV" },
    s3: {
      s3SchemaVersion: "1.0",
      configurationId: "bench",
      bucket: {
        name: "bench",
        ownerIdentity: { principalId: "A3NL1KOZZKExample" },
        arn: "arn:aws:s3:::bench",
      },
      object,
    },
  };
  return JSON.stringify({ Records: [record] });
}

/** The pipeline of a workload; its handler writes the row and calls `onHandled`. */
export function pipelineOf(
  workload: Workload,
  options: { readonly queue: string; readonly concurrency: number; readonly onHandled: () => void },
): Pipeline {
  const { queue, concurrency, onHandled } = options;
  const name = `bench-${workload}`;
  if (workload === "objects") {
    return pipeline({
      name,
      concurrency,
      source: { queue, contents: "objects" },
      sink: tables(TABLES),
      handler({ object }, context) {
        onHandled();
        context.upsert("observations", { station: object.key, celsius: object.size ?? 0 });
      },
    });
  }
  if (workload === "table") {
    return pipeline({
      name,
      concurrency,
      source: { queue },
      sink: tables(TABLES),
      handler({ payload }, context) {
        onHandled();
        const { station, celsius } = payload as { station: string; celsius: number };
        context.upsert("observations", { station, celsius });
      },
    });
  }
  const lease = workload === "receipt" ? "receipt" : "auto";
  return pipeline({ name, concurrency, lease, source: { queue }, handler: onHandled });
}
