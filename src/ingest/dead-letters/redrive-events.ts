// Redrive events: what a redrive reports step by step, and the counts of them.

import type { EpochMs } from "../../core/units.ts";
import type { RedriveEnd } from "./redrive-follow.ts";

/** The dead letter that a step is about. */
export interface RedriveItem {
  readonly key: string;
  readonly object: string | null;
  readonly errorClass: string;
  readonly fingerprint: string;
  readonly failedAt: EpochMs;
}

/** One step of a redrive. A followed record ends with "ended". */
export type RedriveEvent =
  | { readonly kind: "planned" | "sent" | "committed-before"; readonly item: RedriveItem }
  /** It waits in its own queue, which redelivers it by `deliveredBy`. */
  | { readonly kind: "reopened"; readonly item: RedriveItem; readonly deliveredBy: EpochMs }
  /** An earlier run sent it. */
  | { readonly kind: "in-progress"; readonly item: RedriveItem }
  /** Its dossier names a dead letter that the queue did not return. */
  | { readonly kind: "missing"; readonly item: RedriveItem }
  | { readonly kind: "refused"; readonly item: RedriveItem; readonly reason: string }
  | { readonly kind: "ended"; readonly item: RedriveItem; readonly end: RedriveEnd };

/** The events of a redrive, counted. A dry run sends nothing and follows nothing. */
export interface RedriveSummary {
  /** Dead letters that a dry run would have redriven. */
  planned: number;
  /** Sent from the dead-letter queue to the source queue. */
  sent: number;
  /** Reopened without a send, because the message waits in its own queue. */
  reopened: number;
  /** Not sent: the record had been committed, so its dead letter was deleted. */
  committedBefore: number;
  /** The source queue rejected the message; its dead letter stays. */
  refused: number;
  /** The queue did not return the dead letter: it expired, or another reader has it. */
  missing: number;
  /** Records that committed while the run followed them. */
  committed: number;
  /** Records of objects that a newer event has changed since. */
  overtaken: number;
  /** Records that were dead-lettered again. */
  failedAgain: number;
  /** Records that had not ended when the run stopped following them. */
  waiting: number;
  /** Why the run ended early; null if it did not. */
  stopped: "too-many-failed" | "interrupted" | null;
}

export function emptySummary(): RedriveSummary {
  return {
    planned: 0,
    sent: 0,
    reopened: 0,
    committedBefore: 0,
    refused: 0,
    missing: 0,
    committed: 0,
    overtaken: 0,
    failedAgain: 0,
    waiting: 0,
    stopped: null,
  };
}

/** Adds an event to the counts of its run. */
export function countEvent(summary: RedriveSummary, event: RedriveEvent): void {
  switch (event.kind) {
    case "ended":
      if (event.end === "failed-again") summary.failedAgain += 1;
      else summary[event.end] += 1;
      break;
    case "committed-before":
      summary.committedBefore += 1;
      break;
    case "in-progress":
      break;
    default:
      summary[event.kind] += 1;
  }
}
