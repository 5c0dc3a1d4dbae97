// Reproduce: runs the inputs of a manifest again, into a shadow, and compares the results.
//   D1. A manifest whose digest does not match was edited or cut off, and is refused.
//   D2. Nothing is taken from the live records: inputs, versions and results are those of the
//       manifest. The shadow is dropped afterwards.
//   D3. Runs are compared record by record, by the content hash of their effects. The same hashes
//       mean the same outputs (R4 of run-manifest.ts).

import { parseInstant } from "../../core/encoding/rfc3339.ts";
import type { Lane } from "../../core/lane.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { recordKey } from "../../ledger/record-key.ts";
import {
  digestOfManifest,
  type ManifestInput,
  RUN_MANIFEST_SCHEMA,
  type RunManifest,
} from "../../lineage/run-manifest.ts";
import { systemPorts } from "../../platform/index.ts";
import type { RecordKey } from "../../ports/record.ts";
import { digestOfInputs, type ReplayPlan, type RunDigests } from "../../replay/plan-replay.ts";
import { compareInputs, type ReplayInput, rebuildInput } from "../../replay/replay-input.ts";
import { refuseReplay } from "./replay-refusals.ts";
import type { Replays, StartReplay } from "./replays.ts";

export interface Reproduction {
  readonly run: string;
  readonly records: number;
  /** Records whose results differ. */
  readonly differing: number;
  readonly first: {
    readonly uri: string | null;
    readonly expected: string | null;
    readonly actual: string | null;
  } | null;
  /** Digests that differ from those of the manifest, which may explain it. */
  readonly digests: readonly ("code" | "config")[];
}

/** A manifest from the text of a file (D1). */
export function parseRunManifest(text: string, name: string): RunManifest {
  let manifest: RunManifest;
  try {
    manifest = JSON.parse(text) as RunManifest;
  } catch {
    return refuseReplay(`${name} is not JSON; use a file that runs manifest or replay has written`);
  }
  if (manifest?.schema !== RUN_MANIFEST_SCHEMA || !Array.isArray(manifest.inputs)) {
    refuseReplay(`${name} is not a run manifest of this version`);
  }
  if (digestOfManifest(manifest) !== manifest.digest) {
    refuseReplay(`${name} was changed after it was written: its digest does not match`);
  }
  return manifest;
}

export async function reproduceManifest(
  replays: Replays,
  pipeline: Pipeline,
  manifest: RunManifest,
  options: StartReplay = {},
): Promise<Reproduction> {
  if (manifest.run.pipeline !== pipeline.name) {
    refuseReplay(`the manifest is of ${manifest.run.pipeline}, but the file has ${pipeline.name}`);
  }
  const inputs = manifest.inputs.filter(isCommitted).map((each) => {
    return { expected: each, input: inputOf(pipeline, manifest, each) };
  });
  const digests = replays.digests();
  const plan = planOf(inputs.map(({ input }) => input).sort(compareInputs), digests);
  const status = await replays.startPlan(plan, options);
  const { run, generation } = status.entry;
  try {
    const results = new Map<RecordKey, string>();
    for await (const { key, record } of replays.records(run)) {
      if (record.kind === "committed") results.set(key, record.digest);
    }
    const scope = { pipeline: pipeline.name, generation };
    const differing = inputs.filter(({ expected, input }) => {
      return results.get(recordKey(scope, input.identity)) !== expected.result;
    });
    const [shown] = differing;
    return {
      run,
      records: inputs.length,
      differing: differing.length,
      first:
        shown === undefined
          ? null
          : {
              uri: shown.expected.uri,
              expected: shown.expected.result,
              actual: results.get(recordKey(scope, shown.input.identity)) ?? null,
            },
      digests: differingDigests(manifest, digests),
    };
  } finally {
    await replays.drop(run); // D2
  }
}

/** A run of its own: a second reproduction does not meet the records of the first. */
function planOf(inputs: readonly ReplayInput[], digests: RunDigests): ReplayPlan {
  const [first, last] = [inputs[0], inputs.at(-1)];
  if (first === undefined || last === undefined) {
    return refuseReplay("the manifest has no records to run");
  }
  const window = { from: first.eventTime, to: epochMs(last.eventTime + 1) };
  return {
    run: systemPorts.random.uuid(),
    request: { ...window, bucket: null, prefix: null, into: "shadow" },
    digests,
    inputs,
    inputsDigest: digestOfInputs(inputs),
    cut: { committedAt: last.eventTime, key: last.key },
    leftOut: {},
  };
}

function differingDigests(
  { code, config, run }: RunManifest,
  digests: RunDigests,
): ("code" | "config")[] {
  const isCode = code.digest !== digests.codeDigest;
  // A live run's configuration covers ports and folders, too.
  const isConfig = run.kind === "replay" && config.digest !== digests.configDigest;
  return [...(isCode ? ["code" as const] : []), ...(isConfig ? ["config" as const] : [])];
}

function isCommitted({ outcome }: ManifestInput): boolean {
  return outcome === "committed" || outcome === "superseded";
}

function inputOf(pipeline: Pipeline, { run }: RunManifest, input: ManifestInput): ReplayInput {
  const { key, uri, versionId, etag, size, sequencer, eventId, lane } = input;
  const [, bucket = "", name = ""] = /^s3:\/\/([^/]+)\/(.*)$/s.exec(uri ?? "") ?? [];
  const eventTime = instantOf(input.eventTime);
  const rebuilt = rebuildInput(
    { ...pipeline, generation: run.generation },
    {
      key: key as RecordKey,
      kind: input.kind as "object",
      eventId,
      object: { bucket, key: decodeUri(name), versionId, etag, size, sequencer },
      eventTime,
      sentAt: eventTime,
      partition: "",
      lane: { lane: lane as Lane, watermark: null },
    },
  );
  if (rebuilt !== null) return rebuilt;
  return refuseReplay(
    `${uri ?? input.messageId} cannot be run again: only events of objects can be rebuilt`,
  );
}

function decodeUri(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

function instantOf(text: string): EpochMs {
  const parsed = parseInstant(text);
  return parsed.kind === "instant" ? parsed.epochMs : epochMs(0);
}
