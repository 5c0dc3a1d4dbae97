// Reproduce: runs the inputs of a manifest again, into a shadow, and compares the results.
//   D1. A manifest whose digest does not match was edited or cut off, and is refused.
//   D2. Nothing is taken from the live records: inputs, versions and results are those of the
//       manifest. The shadow is dropped afterwards.
//   D3. Runs are compared record by record, by the content hash of their effects. The same hashes
//       mean the same outputs (R4 of run-manifest.ts).
//   D4. The seed, the parameters and the models are those of the manifest, whatever the file has
//       now. A manifest has only digests of lookups, so another lookup is reported.
//   D5. What cannot be run again is counted, never passed over: messages that were not
//       archived, and versions that are gone because a later event of the manifest replaced them.
//   D6. An input whose bytes have another hash than the manifest says is named as such, whether or
//       not its results differ. Only hashes of the same algorithm are compared.

import { canonicalJson } from "../../core/encoding/canonical-json.ts";
import { parseInstant } from "../../core/encoding/rfc3339.ts";
import type { Lane } from "../../core/lane.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { frozenOf, recordedValues } from "../../ingest/spec/frozen-values.ts";
import { inputHashIn } from "../../ingest/stages/effects/effects-summary.ts";
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
import { digestsNow, type RunContext } from "./replay-context.ts";
import { dropReplay } from "./replay-promotion.ts";
import { refuseReplay } from "./replay-refusals.ts";
import { inputsOfRun, type ReplayRunOptions, recordsOfRun, startPlan } from "./replay-runner.ts";
import type { ReplayStatus } from "./replay-status.ts";

/** How the results of a reproduction compare with those of the manifest. */
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
  /** Inputs whose bytes are not those of the manifest, by their hashes (D6). */
  readonly changedInputs: {
    readonly count: number;
    readonly first: {
      readonly uri: string | null;
      readonly expected: string;
      readonly actual: string;
    } | null;
  };
  /** Digests that differ from those of the manifest, which may explain it. */
  readonly digests: readonly ("code" | "config" | "lookups")[];
  /** Frozen values of the file that the manifest's replaced (D4). */
  readonly replaced: readonly ("seed" | "parameters" | "models")[];
  /** Records that could not be run again (D5). */
  readonly leftOut: number;
  /** Versions that a later event of the manifest replaced, and that are gone (D5). */
  readonly gone: number;
  /** What the manifest does not cover: other parts of its day, or what a run did later. */
  readonly covers: Pick<RunManifest["run"], "part" | "parts" | "sealed" | "revision">;
  /** Calls of the handler that may explain a difference. */
  readonly uses: ReplayStatus["uses"];
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
  if (!hasItsDigest(manifest)) {
    refuseReplay(`${name} was changed after it was written: its digest does not match`);
  }
  return manifest;
}

/** False for a manifest that was edited, or that lacks a part. */
function hasItsDigest(manifest: RunManifest): boolean {
  try {
    return digestOfManifest(manifest) === manifest.digest;
  } catch {
    return false; // A missing field has no digest.
  }
}

/** The pipeline with the frozen values of a manifest (D4). */
function frozenPipeline(pipeline: Pipeline, manifest: RunManifest): Pipeline {
  const { seeds, parameters, models } = manifest;
  return {
    ...pipeline,
    frozen: frozenOf({ ...pipeline.frozen, seed: seeds.pipeline ?? "", parameters, models }),
  };
}

/** The context has the pipeline of the file, which runs with the manifest's values (D4). */
export async function reproduceManifest(
  given: RunContext,
  manifest: RunManifest,
  options: ReplayRunOptions = {},
): Promise<Reproduction> {
  const { pipeline } = given;
  const context = { ...given, pipeline: frozenPipeline(pipeline, manifest) };
  if (manifest.run.pipeline !== pipeline.name) {
    refuseReplay(`the manifest is of ${manifest.run.pipeline}, but the file has ${pipeline.name}`);
  }
  const { part, parts, sealed, revision } = manifest.run;
  const committed = manifest.inputs.filter(isCommitted);
  const inputs = committed.flatMap((expected) => {
    const input = inputOf(pipeline, manifest, expected);
    return input === null ? [] : [{ expected, input }];
  });
  refuseNothing(committed.length, inputs.length);
  const digests = digestsNow(context);
  const all = inputs.map(({ input }) => input).sort(compareInputs);
  const plan = planOf(all, digests, manifest.run.generation);
  const status = await startPlan(context, plan, options);
  const { run, generation } = status.entry;
  try {
    if (status.state !== "ready" && status.state !== "failed") {
      refuseReplay(`it was ${status.state} before all records had run; start it again`);
    }
    const results = await resultsOf(context, run);
    const scope = { pipeline: pipeline.name, generation };
    const identities = new Map(
      (await inputsOfRun(context, run)).map(({ key, identity }) => [key, identity] as const),
    );
    const compared = inputs.map(({ expected, input }) => {
      const identity = identities.get(input.key);
      const actual = identity === undefined ? undefined : results.get(recordKey(scope, identity));
      return { expected, actual };
    });
    const ran = compared.filter(({ actual }) => actual !== undefined);
    const differing = ran.filter(({ expected, actual }) => actual?.digest !== expected.result);
    const [shown] = differing;
    const { uri = null, result = null } = shown?.expected ?? {};
    return {
      run,
      records: ran.length,
      differing: differing.length,
      first:
        shown === undefined
          ? null
          : { uri, expected: result, actual: shown.actual?.digest ?? null },
      changedInputs: changedInputs(ran),
      digests: differingDigests(manifest, digests, pipeline),
      replaced: replacedValues(manifest, pipeline),
      leftOut: committed.length - inputs.length,
      gone: compared.length - ran.length,
      covers: { part, parts, sealed, revision },
      uses: status.uses,
    };
  } finally {
    await dropReplay(context, run); // D2
  }
}

async function resultsOf(context: RunContext, run: string): Promise<Map<RecordKey, Result>> {
  const results = new Map<RecordKey, Result>();
  for await (const { key, record } of recordsOfRun(context, run)) {
    const digest = record.kind === "committed" ? record.digest : null;
    results.set(key, { digest, ...inputHashIn(record) });
  }
  return results;
}

interface Result {
  readonly digest: string | null;
  readonly hash: string | null;
}

interface Compared {
  readonly expected: ManifestInput;
  readonly actual: Result | undefined;
}

/** D6 */
function changedInputs(ran: readonly Compared[]): Reproduction["changedInputs"] {
  const changed = ran.flatMap(({ expected: { uri, hash }, actual }) => {
    if (hash == null || actual?.hash == null || hash === actual.hash) return [];
    const isSameKind = algorithmOf(hash) === algorithmOf(actual.hash);
    return isSameKind ? [{ uri, expected: hash, actual: actual.hash }] : [];
  });
  return { count: changed.length, first: changed[0] ?? null };
}

function algorithmOf(hash: string): string | undefined {
  return hash.split(":", 1)[0];
}

/** A run of its own: a second reproduction does not meet the records of the first. */
function planOf(
  inputs: readonly ReplayInput[],
  digests: RunDigests,
  generation: number,
): ReplayPlan {
  const [first, last] = [inputs[0], inputs.at(-1)];
  if (first === undefined || last === undefined) {
    return refuseReplay("the manifest has no records to run");
  }
  const window = { from: first.eventTime, to: epochMs(last.eventTime + 1) };
  return {
    run: systemPorts.random.uuid(),
    request: { ...window, bucket: null, prefix: null, into: "shadow" },
    digests,
    generation,
    inputs,
    inputsDigest: digestOfInputs(inputs),
    cut: { committedAt: last.eventTime, key: last.key },
    leftOut: {},
  };
}

function refuseNothing(committed: number, inputs: number): void {
  if (committed === 0 || inputs > 0) return;
  refuseReplay(
    "no record of the manifest can be run again: only events of objects and archived messages are",
  );
}

function differingDigests(
  { code, config, lookups }: RunManifest,
  digests: RunDigests,
  pipeline: Pipeline,
): Reproduction["digests"] {
  const differs = {
    code: code.digest !== digests.codeDigest,
    config: config.pipeline !== digests.configDigest,
    lookups: isOther(lookups, recordedValues(pipeline.frozen).lookups),
  };
  return (["code", "config", "lookups"] as const).filter((name) => differs[name]);
}

function replacedValues(
  { seeds, parameters, models }: RunManifest,
  pipeline: Pipeline,
): Reproduction["replaced"] {
  const recorded = { seed: seeds.pipeline ?? "", parameters, models };
  return (["seed", "parameters", "models"] as const).filter((name) =>
    isOther(recorded[name], pipeline.frozen[name]),
  );
}

function isOther(a: unknown, b: unknown): boolean {
  return canonicalJson(a) !== canonicalJson(b);
}

/** A record that was superseded before it ran has no result to compare. */
function isCommitted({ outcome, result }: ManifestInput): boolean {
  return outcome === "committed" || (outcome === "superseded" && result !== null);
}

/** Null for a record whose event cannot be rebuilt (D5). */
function inputOf(
  pipeline: Pipeline,
  { run }: RunManifest,
  input: ManifestInput,
): ReplayInput | null {
  const { key, uri, versionId, etag, size, sequencer, eventId, lane } = input;
  const [, bucket = "", name = ""] = /^s3:\/\/([^/]+)\/(.*)$/s.exec(uri ?? "") ?? [];
  const eventTime = instantOf(input.eventTime);
  return rebuildInput(
    { ...pipeline, generation: run.generation },
    {
      key: key as RecordKey,
      archived: uri,
      kind: input.kind as "object",
      eventId,
      object: { bucket, key: decodeUri(name), versionId, etag, size, sequencer },
      eventTime,
      sentAt: eventTime,
      partition: "",
      lane: { lane: lane as Lane, watermark: null },
    },
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
