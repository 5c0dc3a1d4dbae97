// All checkers, in the order in which violations are reported.

import { ackAfterCommit } from "./ack-after-commit.ts";
import { attemptsCounted } from "./attempts-counted.ts";
import type { Checker } from "./checker.ts";
import { dedupWindow } from "./dedup-window.ts";
import { dossierForEveryDeadLetter } from "./dossier-for-every-dead-letter.ts";
import { effectsOnce } from "./effects-once.ts";
import { fifoOrder } from "./fifo-order.ts";
import { lastWriterWins } from "./last-writer-wins.ts";
import { liveness } from "./liveness.ts";
import { noEffectUnderOlderFence } from "./no-effect-under-older-fence.ts";
import { noLoss } from "./no-loss.ts";
import { outageNotCounted } from "./outage-not-counted.ts";
import { watermarkMonotone } from "./watermark-monotone.ts";
import { writeAhead } from "./write-ahead.ts";

export const CHECKERS: readonly Checker[] = [
  noLoss,
  effectsOnce,
  noEffectUnderOlderFence,
  ackAfterCommit,
  writeAhead,
  fifoOrder,
  dedupWindow,
  lastWriterWins,
  dossierForEveryDeadLetter,
  attemptsCounted,
  outageNotCounted,
  watermarkMonotone,
  liveness,
];
