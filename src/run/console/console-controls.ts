// Console controls: pauses and resumes a pipeline, retries one record, and ends replays, with the
// same code as the command line.

import { hostname } from "node:os";
import { TidegateError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import { endPause, setPause } from "../../ingest/running/pause.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { historyOf } from "../../operate/history/event-history.ts";
import { type RetryOutcome, retryRecord, retryText } from "../../operate/history/retry-record.ts";
import { readPipelineStatus } from "../../operate/pause.ts";
import type { ReplayContext } from "../../operate/replays/replay-context.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RetryView } from "../../ports/console/console-control-views.ts";
import type { ConsoleControls } from "../../ports/console/console-source.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope, RecordKey } from "../../ports/record.ts";
import type { EmbeddedQueues } from "../open/embedded-queues.ts";

export interface ControlParts {
  readonly clock: Clock;
  /** Not read-only. */
  readonly ledger: Ledger;
  /** The URL of the ledger. */
  readonly url: string;
  /** Null if only its name is known. */
  readonly pipeline: Pipeline | null;
  /** The queues that may have the message of a record; null on SQS. */
  embeddedQueues(): Promise<EmbeddedQueues | null>;
}

const KEY = /^k\d+:/;

export function createConsoleControls(parts: ControlParts): ConsoleControls {
  const { clock, ledger } = parts;
  return {
    async pause(scope, reason) {
      await setPause(ledger, scope, { since: clock.now(), by: `console@${hostname()}`, reason });
      return readPipelineStatus({ clock, ledger }, scope);
    },
    async resume(scope) {
      await endPause(ledger, scope);
      return readPipelineStatus({ clock, ledger }, scope);
    },
    async retry(scope, key) {
      const history = KEY.test(key) ? await historyOf(ledger, scope, key as RecordKey) : null;
      if (history === null) return null;
      const now = clock.now();
      return retryView(await retryRecord(history, now, () => parts.embeddedQueues()), key, now);
    },
    async promote(scope, run) {
      const { promoteReplay } = await loadPromotion();
      const promotion = await promoteReplay(contextOf(parts, scope), run);
      const { appliedObjects, keptObjects, messages } = promotion;
      return { appliedObjects, keptObjects, messages };
    },
    async dropReplay(scope, run) {
      const { dropReplay } = await loadPromotion();
      await dropReplay(contextOf(parts, scope), run);
    },
  };
}

function retryView(outcome: RetryOutcome, name: string, now: EpochMs): RetryView {
  const queue = "queue" in outcome ? outcome.queue : null;
  return { outcome: outcome.kind, queue, message: retryText(outcome, name, now) };
}

/** Loaded here to keep the start of a server fast. */
const loadPromotion = () => import("../../operate/replays/replay-promotion.ts");

function contextOf(parts: ControlParts, scope: LedgerScope): ReplayContext {
  const { pipeline, url, ledger, clock } = parts;
  const isOwn = pipeline?.name === scope.pipeline && pipeline.generation === scope.generation;
  if (pipeline !== null && isOwn) return { pipeline, url, ledger, clock };
  const message = "replays need the pipeline file; start the console with --pipeline FILE";
  throw new TidegateError("TG_REPLAY_REFUSED", message);
}
