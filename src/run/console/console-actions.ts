// Console actions: what the console changes, with the same code as the command line.
//   A1. Redrive, drop and release run as jobs: each step is one item, and an abort ends them after
//       the current item.
//   A2. An edited copy must be another record: a body that decodes to an existing key is refused,
//       because the ledger would take it for a duplicate. So the pipeline file is required.
//   A3. The note on the original record is written after the copy was sent (E2 of edited-note.ts).
//   A4. Names in the steps of a job are masked as in every view (view-mask.ts).

import { TidegateError } from "../../core/errors.ts";
import { durationMs } from "../../core/units.ts";
import { listDeadLetters } from "../../ingest/dead-letters/dead-letter-list.ts";
import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { type DropEvent, dropDeadLetters } from "../../ingest/dead-letters/drop-dead-letters.ts";
import { editedNote } from "../../ingest/dead-letters/edited-note.ts";
import { Redrive } from "../../ingest/dead-letters/redrive.ts";
import type { RedriveEvent, RedriveItem } from "../../ingest/dead-letters/redrive-events.ts";
import { type ReleaseEvent, releaseHeld } from "../../ingest/late/release.ts";
import type { DeadLetterFilter } from "../../ingest/policy/dead-letter-filter.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { decodeDelivery } from "../../ingest/stages/decode.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  ConsoleJobItem,
  DeadLetterChoice,
  EditedView,
  EditOrder,
} from "../../ports/console/console-orders.ts";
import type { ConsoleActions } from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue } from "../../ports/queue-receiver.ts";
import type { Random } from "../../ports/random.ts";
import type { LedgerScope } from "../../ports/record.ts";
import type { ViewMask } from "./view-mask.ts";

export interface OpenedQueues {
  readonly queue: Queue;
  readonly deadLetters: Queue | null;
}

export interface ActionParts {
  readonly clock: Clock;
  readonly random: Random;
  /** Not read-only. */
  readonly ledger: Ledger;
  /** Null if only its name is known. */
  readonly pipeline: Pipeline | null;
  /** A4 */
  readonly views: ViewMask;
  /** The queue of a pipeline and its dead-letter queue. */
  openQueues(scope: LedgerScope): Promise<OpenedQueues>;
}

const SECOND_MS = 1_000;
const PERCENT = 100;

type Step = Omit<ConsoleJobItem, "at">;

export function createConsoleActions(parts: ActionParts): ConsoleActions {
  const { clock, ledger } = parts;
  const own = parts.pipeline?.source.own ?? null;
  const masked = (step: Step): Step => ({ ...step, name: parts.views.name(step.name) }); // A4
  return {
    async countDeadLetters(scope, filter) {
      const request = { scope, filter: filterOf(filter) };
      return (await listDeadLetters({ clock, ledger }, request)).length;
    },
    redrive(scope, order, signal) {
      let stopped: string | null = null;
      async function* steps(): AsyncGenerator<Step> {
        const { queue: source, deadLetters } = await parts.openQueues(scope);
        const { stopAfter: failuresMin = 5, stopPercent = 50, followSeconds = 120 } = order;
        const run = new Redrive(
          { ...parts, source, deadLetters: deadLetters ?? source },
          {
            scope,
            own,
            filter: filterOf(order.filter),
            dryRun: order.dryRun,
            perSecond: order.perSecond,
            limit: order.limit,
            signal,
            ownQueueOnly: deadLetters === null,
            followMs: durationMs(followSeconds * SECOND_MS),
            stop: { failuresMin, failedShareMax: stopPercent / PERCENT },
          },
        );
        for await (const event of run) yield masked(redriveStep(event));
        stopped = run.summary.stopped;
      }
      return { [Symbol.asyncIterator]: () => steps(), stopped: () => stopped };
    },
    async *drop(scope, order, signal) {
      const { queue, deadLetters } = await parts.openQueues(scope);
      const filter = filterOf(order.filter);
      const options = { scope, own, filter, source: queue.name, dryRun: order.dryRun, signal };
      const ports = { clock, ledger, deadLetters, source: queue };
      for await (const event of dropDeadLetters(ports, options)) yield masked(dropStep(event));
    },
    async countHeld(scope, filter) {
      const { queue: source } = await parts.openQueues(scope);
      const options = { scope, runId: "", filter, dryRun: true };
      let count = 0;
      for await (const _ of releaseHeld({ clock, ledger, source }, options)) count += 1;
      return count;
    },
    async *release(scope, { filter, dryRun = false }, signal) {
      const { queue: source } = await parts.openQueues(scope);
      const options = { scope, runId: parts.random.uuid(), filter, dryRun, signal };
      const events = releaseHeld({ clock, ledger, source }, options);
      for await (const event of events) yield masked(releaseStep(event));
    },
    edit: (scope, order) => sendEdited(parts, scope, order),
  };
}

function filterOf(choice: DeadLetterChoice): DeadLetterFilter {
  const { olderThanMs, newerThanMs, ...rest } = choice;
  return {
    ...rest,
    ...(olderThanMs !== undefined && { olderThanMs: durationMs(olderThanMs) }),
    ...(newerThanMs !== undefined && { newerThanMs: durationMs(newerThanMs) }),
  };
}

function stepOf({ key, object }: RedriveItem, step: string, detail: string | null = null): Step {
  return { key, name: object ?? key, step, detail };
}

function redriveStep(event: RedriveEvent): Step {
  if (event.kind === "ended") return stepOf(event.item, event.end);
  return stepOf(event.item, event.kind, event.kind === "refused" ? event.reason : null);
}

function dropStep(event: DropEvent): Step {
  return stepOf(event.item, event.kind, event.kind === "skipped" ? event.reason : null);
}

function releaseStep(event: ReleaseEvent): Step {
  const { record_key: key, about } = event.note;
  const detail = event.kind === "refused" ? event.reason : null;
  return { key, name: about ?? key, step: event.kind, detail };
}

async function sendEdited(
  parts: ActionParts,
  scope: LedgerScope,
  { key, body }: EditOrder,
): Promise<EditedView | null> {
  const { clock, ledger, random } = parts;
  const original = asRecordKey(key);
  const note = await ledger.findNote(scope, "dossier", original);
  if (note === undefined) return null;
  const dossier = decodeDossier(note.body);
  const { queue } = await parts.openQueues(scope);
  await checkIsNew(parts, scope, dossier, body);
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
  await ledger.addNotes(scope, [editedNote(original, messageId, clock.now())]); // A3
  return { messageId, queue: queue.name, copyOf: key, copyId: messageId };
}

/** A2 */
async function checkIsNew(
  { ledger, pipeline, clock }: ActionParts,
  scope: LedgerScope,
  { group_id: groupId, record_key: original }: Dossier,
  body: string,
): Promise<void> {
  if (pipeline === null) {
    refuse("an edited copy needs the pipeline file, to know its key; start with --pipeline FILE");
  }
  const { records } = decodeDelivery(pipeline, {
    messageId: "edited",
    receipt: "",
    body,
    attributes: {},
    traceHeader: null,
    groupId,
    sentAt: clock.now(),
    receiveCount: 1,
    movedFrom: null,
  });
  const usable = records.filter(({ content }) => content.kind !== "unusable");
  if (usable.length === 0) refuse("the edited body is not an event that the pipeline processes");
  const exists = await ledger.hasRecords(
    scope,
    usable.map((record) => record.key),
  );
  if (!exists.includes(true)) return;
  const isSame = usable.some((record) => record.key === original);
  const which = isSame ? "the dead letter itself" : "a record that exists";
  refuse(`the edited copy has the key of ${which}; change its key, so that it is a new record`);
}

function refuse(message: string): never {
  throw new TidegateError("TG_VALUE_INVALID", message);
}
