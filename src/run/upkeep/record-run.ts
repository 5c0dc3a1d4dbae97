// Record run: the row of a pipeline's process life, with its digests and counts.

import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Consumer, ConsumerSnapshot } from "../../ingest/running/consumer.ts";
import { recordedValues } from "../../ingest/spec/frozen-values.ts";
import { NO_COUNTS } from "../../ingest/telemetry/outcome-counts.ts";
import { systemPorts } from "../../platform/index.ts";
import { packageVersion } from "../../platform/package-version.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { PreparedRun } from "../prepare-run.ts";
import { configDigest, digestOfFile, digestOfFunctions, pipelineDigest } from "./digests.ts";
import { type RunRecorder, type RunStart, startRunRecorder } from "./run-recorder.ts";

/** What a run runs on. */
export function runEnvironment(): Readonly<Record<string, string>> {
  const { platform, arch, version: node } = process;
  const pid = String(process.pid);
  return { tidegate: packageVersion(), node, platform, arch, host: hostname(), pid };
}

/** The digests of a run of the pipeline, and what it runs on. */
export function digestsOfRun({ pipeline, settings }: PreparedRun, file: string | undefined) {
  return {
    codeDigest: file === undefined ? digestOfFunctions(pipeline) : digestOfFile(file),
    configDigest: configDigest(pipeline, settings),
    environment: JSON.stringify(runEnvironment()),
  };
}

/** Starts to record this process life in the ledger. */
export function recordRun(
  { ledger, consumer }: { readonly ledger: Ledger; readonly consumer: Consumer },
  id: string,
  prepared: PreparedRun,
  file: string | undefined,
): Promise<RunRecorder> {
  const { pipeline } = prepared;
  const run: RunStart = {
    id,
    kind: "live",
    ...digestsOfRun(prepared, file),
    parameters: JSON.stringify({
      file: file === undefined ? null : resolve(file),
      pipelineDigest: pipelineDigest(pipeline),
      values: recordedValues(pipeline.frozen),
    }),
  };
  const ports = { ...systemPorts, ledger };
  const counts = () => countsOf(consumer.snapshot());
  const { name, generation } = pipeline;
  return startRunRecorder(ports, { pipeline: name, generation }, run, counts);
}

/** The counts of a snapshot, without its present state. */
function countsOf(snapshot: ConsumerSnapshot): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.keys(NO_COUNTS).map((name) => [name, snapshot[name as keyof typeof NO_COUNTS]]),
  );
}
