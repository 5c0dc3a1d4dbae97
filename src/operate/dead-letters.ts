// Dead letters: listed, grouped, redriven, dropped, and sent again with another body.
//   D1. An edited copy must be another record: a body that decodes to an existing key is refused,
//       because the ledger would take it for a duplicate. So the pipeline's file is needed.
//   D2. The note on the original record is written after the copy was sent (E2 of edited-note.ts).

import { refuseValue, TidegateError } from "../core/errors.ts";
import { epochMs } from "../core/units.ts";
import {
  createDeadLetterAccess,
  type DeadLetterAccess,
  type DeadLetterListRequest,
  type DeadLetterSelection,
} from "../ingest/dead-letters/dead-letter-access.ts";
import { type Dossier, decodeDossier } from "../ingest/dead-letters/dossier.ts";
import { editedNote } from "../ingest/dead-letters/edited-note.ts";
import { type DeadLetterGroup, groupByFingerprint } from "../ingest/policy/dead-letter-filter.ts";
import { decodeDelivery } from "../ingest/stages/decode.ts";
import { asRecordKey } from "../ledger/record-state.ts";
import type { LedgerScope } from "../ports/record.ts";
import type { Sources } from "./sources.ts";

export type {
  DeadLetterAccess,
  DeadLetterEntry,
  DeadLetterListRequest,
  DeadLetterSelection,
  DropRequest,
  DropSummary,
  RedriveRequest,
} from "../ingest/dead-letters/dead-letter-access.ts";
export type { Dossier } from "../ingest/dead-letters/dossier.ts";
export type { DropEvent } from "../ingest/dead-letters/drop-dead-letters.ts";
export type {
  RedriveEvent,
  RedriveItem,
  RedriveSummary,
} from "../ingest/dead-letters/redrive-events.ts";
export type { DeadLetterGroup } from "../ingest/policy/dead-letter-filter.ts";

/** A copy of a dead letter that was sent with another body. */
export interface EditedCopy {
  readonly messageId: string;
  readonly queue: string;
  /** Record key of the dead letter, which stays until it is dropped. */
  readonly copyOf: string;
}

/** The dead letters of a pipeline, or of all pipelines of the ledger. */
export interface DeadLetters extends DeadLetterAccess {
  /** Dead letters that failed for the same cause, counted; the largest group first. */
  groups(
    selection?: DeadLetterSelection,
    request?: DeadLetterListRequest,
  ): Promise<readonly DeadLetterGroup[]>;
  /** Sends a copy with another body; null if the ledger has no such dead letter (D1). */
  edit(key: string, body: string): Promise<EditedCopy | null>;
}

export function deadLettersOf(sources: Sources): DeadLetters {
  const access = createDeadLetterAccess(sources);
  return {
    ...access,
    async groups(selection, request) {
      const listed: Parameters<typeof groupByFingerprint>[0][number][] = [];
      for await (const { class: errorClass, failedAt, ...each } of access.list(
        selection,
        request,
      )) {
        listed.push({ ...each, errorClass, failedAt: epochMs(failedAt) });
      }
      return groupByFingerprint(listed);
    },
    edit: (key, body) => sendEdited(sources, key, body),
  };
}

async function sendEdited(sources: Sources, key: string, body: string): Promise<EditedCopy | null> {
  const { clock, random } = sources;
  const [ledger, scope] = await Promise.all([sources.writer(), sources.scope("dossier")]);
  const original = asRecordKey(key);
  const note = await ledger.findNote(scope, "dossier", original);
  if (note === undefined) return null;
  const dossier = decodeDossier(note.body);
  await checkIsNew(sources, scope, dossier, body);
  const queue = (await sources.queues())?.queue ?? refuseValue("the queue is not known; name it");
  const [outcome] = await queue.sendBatch([
    {
      body,
      attributes: {},
      groupId: queue.fifo ? (dossier.group_id ?? key) : null,
      dedupId: queue.fifo ? random.uuid() : null,
    },
  ]);
  if (outcome?.kind !== "sent") {
    throw new TidegateError("TG_QUEUE_REFUSED", `the queue refused it: ${outcome?.message ?? ""}`);
  }
  const { messageId } = outcome;
  await ledger.addNotes(scope, [editedNote(original, messageId, clock.now())]); // D2
  return { messageId, queue: queue.name, copyOf: key };
}

/** D1 */
async function checkIsNew(
  sources: Sources,
  scope: LedgerScope,
  { group_id: groupId, record_key: original }: Dossier,
  body: string,
): Promise<void> {
  const [pipeline, ledger] = await Promise.all([sources.pipeline(), sources.reader()]);
  if (pipeline === null) {
    return refuseValue("an edited copy needs the pipeline file, because its key depends on it");
  }
  const { records } = decodeDelivery(pipeline, {
    messageId: "edited",
    receipt: "",
    body,
    attributes: {},
    traceHeader: null,
    groupId,
    sentAt: sources.clock.now(),
    receiveCount: 1,
    movedFrom: null,
  });
  const usable = records.filter(({ content }) => content.kind !== "unusable");
  if (usable.length === 0)
    refuseValue("the edited body is not an event that the pipeline processes");
  const exists = await ledger.hasRecords(
    scope,
    usable.map((record) => record.key),
  );
  if (!exists.includes(true)) return;
  const isSame = usable.some((record) => record.key === original);
  const which = isSame ? "the dead letter itself" : "a record that exists";
  refuseValue(
    `the edited copy has the key of ${which}; change its key, so that it is a new record`,
  );
}
