// Replay registry: the replays of a pipeline, in its ledger.
//   R1. A replay has a generation of its own. Its first record belongs to the run that took it, and
//       only one run can commit that record: two runs never share a generation.
//   R2. The input set is stored before the entry that names it, and the entry before anything runs.
//       A run that is continued reads what was frozen, whatever the ledger lists by then.
//   R3. A promotion is noted in the generation of the replay, and the note outlives the entry.

import { isUuid } from "../core/encoding/uuid.ts";
import { TidegateError } from "../core/errors.ts";
import { type EpochMs, epochMs } from "../core/units.ts";
import { everyNote } from "../ledger/every-note.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ledger, NoteInput } from "../ports/ledger.ts";
import type { LedgerScope, RecordInput, RecordKey } from "../ports/record.ts";
import type { GoneVersion } from "./check-versions.ts";
import type { ReplayCut, ReplayPlan, ReplayRequest, RunDigests } from "./plan-replay.ts";
import type { ReplayInput } from "./replay-input.ts";

/** Below the limit of a note. */
const CHUNK_CHARS = 100_000;
const NOTES_PER_CALL = 1;
const GENERATIONS_MAX = 1_000_000;
const CANCEL = "cancel";
const PROMOTED = "promoted";
const SHADOW_CHARS = 8;
/** Missing versions that an entry names. */
const MISSING_MAX = 200;

/** A replay, as the ledger lists it. */
export interface ReplayEntry {
  readonly run: string;
  readonly generation: number;
  /** The id of its shadow. */
  readonly shadow: string;
  readonly request: ReplayRequest;
  readonly digests: RunDigests;
  readonly inputs: number;
  readonly inputsDigest: string;
  readonly cut: ReplayCut;
  readonly leftOut: Readonly<Record<string, number>>;
  /** Versions that are gone, and that the replay does without. */
  readonly missing: readonly GoneVersion[];
  /** The file of the pipeline, by which later commands find it. */
  readonly file: string | null;
  readonly createdAt: EpochMs;
}

interface RegistryPorts {
  readonly ledger: Ledger;
  readonly clock: Clock;
}

export async function findReplay(
  ledger: Ledger,
  scope: LedgerScope,
  run: string,
): Promise<ReplayEntry | null> {
  const note = await ledger.findNote(scope, "replay", run);
  return note === undefined ? null : (JSON.parse(note.body) as ReplayEntry);
}

/** The replay with that id; throws TG_REPLAY_REFUSED if there is none. */
export async function requireReplay(
  ledger: Ledger,
  scope: LedgerScope,
  run: string,
): Promise<ReplayEntry> {
  const entry = await findReplay(ledger, scope, run);
  if (entry !== null) return entry;
  const message = `unknown run "${run}" of ${scope.pipeline}; list them with tidegate replay list`;
  throw new TidegateError("TG_REPLAY_REFUSED", message);
}

/** Newest first. */
export async function listReplays(ledger: Ledger, scope: LedgerScope): Promise<ReplayEntry[]> {
  const entries: ReplayEntry[] = [];
  for await (const { name, body } of everyNote(ledger, scope, "replay")) {
    if (isUuid(name)) entries.push(JSON.parse(body) as ReplayEntry);
  }
  return entries.sort((a, b) => b.createdAt - a.createdAt || (a.run < b.run ? -1 : 1));
}

/** Takes a generation and freezes the inputs (R1, R2). */
export async function registerReplay(
  ports: RegistryPorts,
  scope: LedgerScope,
  plan: ReplayPlan,
  { missing, file }: Pick<ReplayEntry, "missing" | "file">,
): Promise<ReplayEntry> {
  const { ledger, clock } = ports;
  const { run, request, digests, inputs, inputsDigest, cut, leftOut } = plan;
  const generation = await takeGeneration(ports, scope, run);
  await freezeInputs(ports, { ...scope, generation }, inputs);
  const shadow = run.replaceAll("-", "").slice(-SHADOW_CHARS);
  const createdAt = clock.now();
  const facts = { run, generation, shadow, request, digests, inputsDigest, cut, leftOut };
  const shown = missing.slice(0, MISSING_MAX);
  const entry: ReplayEntry = { ...facts, missing: shown, file, inputs: inputs.length, createdAt };
  const note = { kind: "replay", name: run, at: createdAt, count: 1 } as const;
  await ledger.addNotes(scope, [{ ...note, body: JSON.stringify(entry) }]);
  return entry;
}

/** R1 */
async function takeGeneration(
  { ledger, clock }: RegistryPorts,
  scope: LedgerScope,
  run: string,
): Promise<number> {
  const previous = (await listReplays(ledger, scope)).map(({ generation }) => generation);
  const first = Math.max(scope.generation, ...previous) + 1;
  for (let generation = first; generation <= GENERATIONS_MAX; generation += 1) {
    const own = { pipeline: scope.pipeline, generation };
    const query = { by: "event-time" } as const;
    const used = await ledger.listRecords(own, query, { after: null, limit: 2 });
    const key = ownerKey(own);
    if (used.records.some((record) => record.key !== key)) continue;
    const now = clock.now();
    const [result] = await ledger.commitDirect(own, [
      { key, owner: run, receivedAt: now, startedAt: now, input: ownerInput(now), digest: run },
    ]);
    const isOwn = result?.kind === "duplicate" && result.digest === run;
    if (result?.kind === "committed" || isOwn) return generation;
  }
  throw new TidegateError("TG_REPLAY_REFUSED", "no generation is free; purge old ones");
}

/** Whether a replay has taken that generation (R1). */
export async function isReplay(ledger: Ledger, scope: LedgerScope): Promise<boolean> {
  const [isTaken = false] = await ledger.hasRecords(scope, [ownerKey(scope)]);
  return isTaken;
}

function ownerKey(scope: LedgerScope): RecordKey {
  return recordKey(scope, "replay");
}

/** The record that takes a generation; it is not an input of any run. */
function ownerInput(now: EpochMs): RecordInput {
  return {
    kind: "own",
    eventId: null,
    object: null,
    source: "replay",
    dedupeKey: null,
    eventTime: epochMs(0),
    sentAt: now,
    messageId: "replay",
    traceId: null,
    runId: "",
    partition: "",
    lane: { lane: "live", watermark: null },
  };
}

async function freezeInputs(
  { ledger, clock }: RegistryPorts,
  scope: LedgerScope,
  inputs: readonly ReplayInput[],
): Promise<void> {
  const chunks: string[] = [];
  let lines: string[] = [];
  let chars = 0;
  for (const input of inputs) {
    const line = JSON.stringify(input);
    if (chars + line.length > CHUNK_CHARS && lines.length > 0) {
      chunks.push(`[${lines.join(",")}]`);
      [lines, chars] = [[], 0];
    }
    lines.push(line);
    chars += line.length + 1;
  }
  if (lines.length > 0) chunks.push(`[${lines.join(",")}]`);
  const at = clock.now();
  const notes = chunks.map(
    (body, index): NoteInput => ({ kind: "replay", name: chunkName(index), at, count: 1, body }),
  );
  for (let index = 0; index < notes.length; index += NOTES_PER_CALL) {
    await ledger.addNotes(scope, notes.slice(index, index + NOTES_PER_CALL));
  }
}

function chunkName(index: number): string {
  return `inputs/${String(index).padStart(8, "0")}`;
}

/** The frozen inputs of a replay, in their order (R2). */
export async function frozenInputs(
  ledger: Ledger,
  scope: LedgerScope,
  { generation, inputs: count, run }: ReplayEntry,
): Promise<ReplayInput[]> {
  const own = { ...scope, generation };
  const inputs: ReplayInput[] = [];
  for (let index = 0; inputs.length < count; index += 1) {
    const note = await ledger.findNote(own, "replay", chunkName(index));
    if (note === undefined) {
      const message = `the inputs of the run ${run} have expired; start a new replay`;
      throw new TidegateError("TG_REPLAY_REFUSED", message);
    }
    for (const input of JSON.parse(note.body) as ReplayInput[]) inputs.push(input);
  }
  return inputs;
}

/** Asks the process that runs a replay to stop after its current records. */
export async function cancelReplay(
  { ledger, clock }: RegistryPorts,
  scope: LedgerScope,
  { generation }: ReplayEntry,
): Promise<void> {
  const note = { kind: "replay", name: CANCEL, at: clock.now(), count: 1, body: "{}" } as const;
  await ledger.addNotes({ ...scope, generation }, [note]);
}

export async function isCancelled(
  ledger: Ledger,
  scope: LedgerScope,
  { generation }: ReplayEntry,
): Promise<boolean> {
  const note = await ledger.findNote({ ...scope, generation }, "replay", CANCEL);
  return note !== undefined;
}

/** A cancelled replay that is started again. */
export async function uncancelReplay(
  ledger: Ledger,
  scope: LedgerScope,
  { generation }: ReplayEntry,
): Promise<void> {
  await ledger.removeNotes({ ...scope, generation }, "replay", [CANCEL]);
}

/** Notes that the rows of a replay are live (R3). */
export async function notePromotion(
  { ledger, clock }: RegistryPorts,
  scope: LedgerScope,
  { generation }: ReplayEntry,
): Promise<void> {
  const note = { kind: "replay", name: PROMOTED, at: clock.now(), count: 1, body: "{}" } as const;
  await ledger.addNotes({ ...scope, generation }, [note]);
}

/** Whether the promotion of a replay was noted, by the scope of its generation (R3). */
export async function isPromotionNoted(ledger: Ledger, scope: LedgerScope): Promise<boolean> {
  return (await ledger.findNote(scope, "replay", PROMOTED)) !== undefined;
}

/** Removes the frozen inputs and the entry. */
export async function forgetReplay(
  ledger: Ledger,
  scope: LedgerScope,
  { run, generation, inputs }: ReplayEntry,
): Promise<void> {
  const own = { ...scope, generation };
  for (let index = 0; index < inputs; index += 1) {
    const name = chunkName(index);
    if ((await ledger.findNote(own, "replay", name)) === undefined) break;
    await ledger.removeNotes(own, "replay", [name]);
  }
  await ledger.removeNotes(scope, "replay", [run]);
}
