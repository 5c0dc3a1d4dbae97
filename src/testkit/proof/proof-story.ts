// Proof story: a run as a short list of steps.
//   Y1. Consecutive steps of a kind are one step: "reads 24 rows".
//   Y2. A story ends at the step that does the damage.

import type { History } from "../../sim/history.ts";
import type { ProofRun, ProofStep } from "./proof-run.ts";

/** A history that also adds its events to the story of the run. */
export function proofHistory(history: History, run: ProofRun): History {
  return {
    events: history.events,
    add(actor, event) {
      history.add(actor, event);
      switch (event.kind) {
        case "committed":
          run.addStep(
            actor,
            event.name,
            event.superseded ? "is superseded by a newer version" : "commits its effects",
          );
          break;
        case "refused":
          run.addStep(
            actor,
            event.name,
            REFUSALS[event.why] ?? `is refused by the ledger: ${event.why}`,
          );
          break;
        case "failed":
          run.addStep(actor, event.name, "stores the failure; the record will be retried");
          break;
        case "parked":
          run.addStep(actor, event.name, "dead-letters the record");
          break;
        default:
      }
    },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  duplicate: "skips the record: the ledger has it as committed",
  busy: "waits: another consumer holds the claim",
  fenced: "is fenced: another consumer has taken over the claim",
  stale: "skips the record: a newer version is already applied",
  parked: "skips the record: it is dead-lettered",
};

interface FoldedStep {
  readonly step: ProofStep;
  readonly counts: Map<string, number>;
}

/** The story of a run, one sentence per step. */
export function storyOf(
  runSteps: readonly ProofStep[],
  titleOf: (record: string) => string,
): string[] {
  const folded: FoldedStep[] = [];
  const latest = new Map<string, FoldedStep>();
  for (const step of runSteps) {
    const attempt = `${step.actor} ${step.record}`;
    const previous = latest.get(attempt);
    if (previous !== undefined && isMoreOf(previous.step, step)) {
      previous.counts.set(step.what, (previous.counts.get(step.what) ?? 0) + 1); // Y1
      continue;
    }
    const next = { step, counts: new Map([[step.what, 1]]) };
    folded.push(next);
    latest.set(attempt, next);
  }
  return folded.map((each) => sentenceOf(each, titleOf));
}

/** Reads and effects come in long runs; so may refusals. */
function isMoreOf(previous: ProofStep, next: ProofStep): boolean {
  if (previous.fault || next.fault) return false;
  return (previous.fold !== null && next.fold !== null) || previous.what === next.what;
}

function sentenceOf({ step, counts }: FoldedStep, titleOf: (record: string) => string): string {
  const { actor, record, what, fold, fault } = step;
  const title = titleOf(record);
  const action = fold === null || counts.size === 1 ? what : foldedText(counts);
  const text = `${actor} ${action}`.replace("the record", title);
  return fault ? `${text}  <- fault` : text;
}

function foldedText(counts: ReadonlyMap<string, number>): string {
  const rows = [...counts.keys()].filter((what) => what.startsWith("reads ")).length;
  const effects = [...counts].filter(([what]) => !what.startsWith("reads "));
  const requested = effects.reduce((sum, [, count]) => sum + count, 0);
  const parts = [
    ...(rows === 0 ? [] : [rows === 1 ? "reads 1 row" : `reads ${rows} rows`]),
    ...(requested === 0
      ? []
      : [requested === 1 ? "requests 1 effect" : `requests ${requested} effects`]),
  ];
  return parts.join(" and ");
}
