// Plan replay: which records a replay runs again, before anything runs.
//   P1. The input set is the committed records of the window, as the ledger lists them now. It is
//       frozen with the run; records that commit later are not part of it.
//   P2. The id of a run is derived from the request, the code and the input set. The same request
//       on the same records is the same run.
//   P3. Records that cannot be replayed are counted and named, never dropped silently.

import { canonicalJson } from "../core/encoding/canonical-json.ts";
import { sha256Hex, sha256HexOfParts } from "../core/encoding/hash.ts";
import { formatInstant } from "../core/encoding/rfc3339.ts";
import { deterministicUuid } from "../core/encoding/uuid.ts";
import { TidegateError } from "../core/errors.ts";
import type { EpochMs } from "../core/units.ts";
import type { Pipeline } from "../ingest/spec/define-pipeline.ts";
import { everyRecord } from "../ledger/every-record.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger, ListedRecord, RecordQuery } from "../ports/ledger.ts";
import type { LedgerScope } from "../ports/record.ts";
import {
  archivedIn,
  compareInputs,
  type ReplayInput,
  rebuildInput,
  replayedObject,
} from "./replay-input.ts";

/** A plan is kept in memory. */
export const REPLAY_INPUTS_MAX = 2_000_000;

/** Why messages are left out. */
const NOT_ARCHIVED =
  "messages whose bodies were not kept; archive: { bucket } in the pipeline file keeps them from now on";
const NOT_ARCHIVED_THEN =
  "messages whose bodies were not kept, because archive was not set or their key is masked";

export type ReplayTarget = "shadow" | "live";

export interface ReplayRequest {
  readonly from: EpochMs;
  /** Exclusive. */
  readonly to: EpochMs;
  /** Only objects of this bucket, and whose key starts with `prefix`. */
  readonly bucket: string | null;
  readonly prefix: string | null;
  readonly into: ReplayTarget;
}

/** The digests that decide whether two runs have the same code and settings. */
export interface RunDigests {
  readonly codeDigest: string;
  readonly configDigest: string;
}

/** The newest commit of an input set. */
export interface ReplayCut {
  readonly committedAt: EpochMs;
  readonly key: string;
}

export interface ReplayPlan {
  readonly run: string;
  readonly request: ReplayRequest;
  readonly digests: RunDigests;
  /** The generation that the keys of the inputs belong to. */
  readonly generation: number;
  /** In the order in which they run. */
  readonly inputs: readonly ReplayInput[];
  readonly inputsDigest: string;
  readonly cut: ReplayCut;
  /** Records of the window that are not replayed, by reason (P3). */
  readonly leftOut: Readonly<Record<string, number>>;
}

export async function planReplay(
  ports: { readonly ledger: Ledger; readonly clock: Clock },
  pipeline: Pipeline,
  request: ReplayRequest,
  digests: RunDigests,
): Promise<ReplayPlan> {
  refuseWindow(request, ports.clock.now());
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  const inputs: ReplayInput[] = [];
  const leftOut = new Map<string, number>();
  let cut: ReplayCut | null = null;
  for await (const listed of everyRecord(ports.ledger, scope, queryOf(request))) {
    const input = inputOf(pipeline, listed);
    if (typeof input === "string") {
      leftOut.set(input, (leftOut.get(input) ?? 0) + 1); // P3
      continue;
    }
    if (inputs.push(input) > REPLAY_INPUTS_MAX) refuse(tooMany(request));
    cut = laterCut(cut, { committedAt: listed.record.changedAt, key: listed.key });
  }
  if (cut === null) refuse(`no record to replay ${windowText(request)}${leftOutText(leftOut)}`);
  inputs.sort(compareInputs);
  const inputsDigest = digestOfInputs(inputs);
  const run = runIdOf(scope, request, digests, inputsDigest);
  const sorted = Object.fromEntries([...leftOut].sort(([a], [b]) => (a < b ? -1 : 1)));
  const { generation } = scope;
  return { run, request, digests, generation, inputs, inputsDigest, cut, leftOut: sorted };
}

function refuse(message: string): never {
  const hint = "Choose another window or prefix; nothing was changed.";
  throw new TidegateError("TG_REPLAY_REFUSED", message, { hint });
}

function refuseWindow({ from, to }: ReplayRequest, now: EpochMs): void {
  const [since, until] = [formatInstant(from), formatInstant(to)];
  if (from > to) refuse(`the start ${since} is after the end ${until}; swap them`);
  if (from === to) refuse(`the window from ${since} to ${until} is empty; its end is exclusive`);
  if (to > now) {
    refuse(`the end ${until} is in the future; choose a time up to ${formatInstant(now)}`);
  }
}

export function windowText({ from, to, bucket, prefix }: ReplayRequest): string {
  const objects = bucket === null ? "" : ` of s3://${bucket}/${prefix ?? ""}`;
  return `in the window ${formatInstant(from)} to ${formatInstant(to)}${objects}`;
}

function leftOutText(leftOut: ReadonlyMap<string, number>): string {
  const parts = [...leftOut].map(([reason, count]) => `${count} ${reason}`);
  return parts.length === 0 ? "" : `; left out: ${parts.join(", ")}`;
}

function tooMany(request: ReplayRequest): string {
  return `more than ${REPLAY_INPUTS_MAX} records ${windowText(request)}; replay a shorter window`;
}

function queryOf({ from, to, bucket, prefix }: ReplayRequest): RecordQuery {
  const of = bucket === null ? {} : { bucket, ...(prefix !== null && { prefix }) };
  return { by: "event-time", from, to, ...of };
}

/** The input of a record, or why it is left out. */
function inputOf(pipeline: Pipeline, { key, record, input }: ListedRecord): ReplayInput | string {
  if (record.kind !== "committed") {
    return record.kind === "parked" ? "dead-lettered or held" : "not committed yet";
  }
  const archived = archivedIn(record.effects);
  const rebuilt = rebuildInput(pipeline, { ...input, key, archived });
  if (rebuilt !== null) return rebuilt;
  if (input.kind === "object") return "events that cannot be rebuilt, such as redriven rows";
  return pipeline.archive === null ? NOT_ARCHIVED : NOT_ARCHIVED_THEN;
}

function laterCut(a: ReplayCut | null, b: ReplayCut): ReplayCut {
  if (a === null || b.committedAt > a.committedAt) return b;
  return b.committedAt === a.committedAt && b.key > a.key ? b : a;
}

export function digestOfInputs(inputs: readonly ReplayInput[]): string {
  const lines = inputs.map((input) => {
    const { versionId, etag } = input.object;
    return `${canonicalJson([input.key, replayedObject(input), versionId, etag, input.lane.lane])}\n`;
  });
  return sha256HexOfParts(lines);
}

/** P2 */
function runIdOf(
  scope: LedgerScope,
  { from, to, bucket, prefix, into }: ReplayRequest,
  { codeDigest, configDigest }: RunDigests,
  inputsDigest: string,
): string {
  const asked = [scope.pipeline, scope.generation, from, to, bucket, prefix, into];
  return deterministicUuid(
    to,
    sha256Hex(canonicalJson([asked, codeDigest, configDigest, inputsDigest])),
  );
}
