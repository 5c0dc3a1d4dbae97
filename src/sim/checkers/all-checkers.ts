// All checkers, in the order in which violations are reported.

import { TABLE_CHECKERS } from "../tables/table-checkers.ts";
import { ackAfterCommit } from "./ack-after-commit.ts";
import { archivedBeforeCommit } from "./archive/archived-before-commit.ts";
import { maskedStaysHidden } from "./archive/masked-stays-hidden.ts";
import { replaySameMessages } from "./archive/replay-same-messages.ts";
import { attemptsCounted } from "./attempts-counted.ts";
import { auditNoFalseAlarm } from "./audit/audit-no-false-alarm.ts";
import { auditSeesLoss } from "./audit/audit-sees-loss.ts";
import { batchComplete } from "./batch-complete.ts";
import type { Checker } from "./checker.ts";
import { dedupWindow } from "./dedup-window.ts";
import { dossierForEveryDeadLetter } from "./dossier-for-every-dead-letter.ts";
import { effectsOnce } from "./effects-once.ts";
import { completeUpTo } from "./event-time/complete-up-to.ts";
import { heldNotLost } from "./event-time/held-not-lost.ts";
import { laneDecidedOnce } from "./event-time/lane-decided-once.ts";
import { watermarkMonotone } from "./event-time/watermark-monotone.ts";
import { fifoOrder } from "./fifo-order.ts";
import { inputNamesEvent } from "./input-names-event.ts";
import { lastWriterWins } from "./last-writer-wins.ts";
import { listedOrLive } from "./listed-or-live.ts";
import { liveness } from "./liveness.ts";
import { locksStayLocal } from "./locks-stay-local.ts";
import { noEffectUnderOlderFence } from "./no-effect-under-older-fence.ts";
import { noLoss } from "./no-loss.ts";
import { noRunAfterCommit } from "./no-run-after-commit.ts";
import { outageNotCounted } from "./outage-not-counted.ts";
import { pauseHonoured } from "./pause-honoured.ts";
import { recordsEnd } from "./records-end.ts";
import { refusedStaysOut } from "./refused-stays-out.ts";
import { sameTimeAndRandom } from "./same-time-and-random.ts";
import { writeAhead } from "./write-ahead.ts";

export const CHECKERS: readonly Checker[] = [
  noLoss,
  recordsEnd,
  effectsOnce,
  noEffectUnderOlderFence,
  ackAfterCommit,
  noRunAfterCommit,
  writeAhead,
  fifoOrder,
  dedupWindow,
  lastWriterWins,
  listedOrLive,
  auditSeesLoss,
  auditNoFalseAlarm,
  dossierForEveryDeadLetter,
  attemptsCounted,
  outageNotCounted,
  locksStayLocal,
  pauseHonoured,
  inputNamesEvent,
  watermarkMonotone,
  batchComplete,
  completeUpTo,
  laneDecidedOnce,
  sameTimeAndRandom,
  heldNotLost,
  refusedStaysOut,
  maskedStaysHidden,
  archivedBeforeCommit,
  replaySameMessages,
  ...TABLE_CHECKERS,
  liveness,
];
