// Input checks: rejects an input or a run that not every store can save, before anything is
// written.

import { refuseValue } from "../core/errors.ts";
import type { RunRow } from "../ports/ledger.ts";
import type { RecordInput } from "../ports/record.ts";
import { checkInstant, checkObject, checkStoredText } from "./value-checks.ts";

/** A dedupe key has at most 1,024 bytes; sources and partitions are shorter. */
export const INPUT_TEXT_CHARS_MAX = 1_024;
export const RUN_ID_CHARS_MAX = 128;
/** Of each JSON text of a run. */
export const RUN_TEXT_CHARS_MAX = 16_384;
const KINDS: ReadonlySet<string> = new Set(["object", "message", "own", "unusable"]);
const LANES: ReadonlySet<string> = new Set(["live", "late", "too-late"]);
const RUN_KINDS: ReadonlySet<string> = new Set(["live", "replay", "backfill"]);

/** An event time may be any whole number: events of 1969 exist. */
function checkEventTime(what: string, value: number | null): void {
  if (value !== null && !Number.isSafeInteger(value))
    refuseValue(`the ${what} ${value} is out of range`);
}

function checkOptional(what: string, text: string | null, charsMax: number): void {
  if (text !== null && text !== "") checkStoredText(what, text, charsMax);
}

export function checkInput(input: RecordInput): void {
  const { kind, object, lane } = input;
  if (!KINDS.has(kind)) refuseValue(`unknown kind of input ${JSON.stringify(kind)}`);
  if (!LANES.has(lane.lane)) refuseValue(`unknown lane ${JSON.stringify(lane.lane)}`);
  checkEventTime("watermark", lane.watermark);
  checkEventTime("event time", input.eventTime);
  checkInstant("time of sending", input.sentAt);
  checkOptional("event id", input.eventId, INPUT_TEXT_CHARS_MAX);
  checkOptional("source", input.source, INPUT_TEXT_CHARS_MAX);
  checkOptional("dedupe key", input.dedupeKey, INPUT_TEXT_CHARS_MAX);
  checkOptional("partition", input.partition, INPUT_TEXT_CHARS_MAX);
  checkOptional("message id", input.messageId, INPUT_TEXT_CHARS_MAX);
  checkOptional("trace id", input.traceId, INPUT_TEXT_CHARS_MAX);
  checkOptional("run id", input.runId, RUN_ID_CHARS_MAX);
  if (object === null) return;
  checkObject(object);
  checkOptional("version id", object.versionId, INPUT_TEXT_CHARS_MAX);
  checkOptional("ETag", object.etag, INPUT_TEXT_CHARS_MAX);
  checkInstant("size of the object", object.size);
}

export function checkRun(run: RunRow): void {
  checkRunId(run.id);
  if (!RUN_KINDS.has(run.kind)) refuseValue(`unknown kind of run ${JSON.stringify(run.kind)}`);
  checkInstant("start of a run", run.startedAt);
  checkInstant("end of a run", run.endedAt);
  checkInstant("heartbeat of a run", run.seenAt);
  checkOptional("code digest", run.codeDigest, INPUT_TEXT_CHARS_MAX);
  checkOptional("config digest", run.configDigest, INPUT_TEXT_CHARS_MAX);
  for (const name of ["environment", "parameters", "counts"] as const) {
    checkStoredText(`${name} of a run`, run[name], RUN_TEXT_CHARS_MAX);
  }
}

export function checkRunId(id: string): void {
  checkStoredText("run id", id, RUN_ID_CHARS_MAX);
}
