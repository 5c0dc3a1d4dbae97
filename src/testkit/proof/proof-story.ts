// Proof story: a run in numbered steps, as short as it can be told.
//   Y1. What follows one another and is of a kind is one step: "reads 24 rows".
//   Y2. A story ends where the harm is done.

import type { History } from "../../sim/history.ts";
import type { ProofEvent, ProofRun } from "./proof-run.ts";

/** A history whose events are told in the run's own words, too. */
export function proofHistory(history: History, run: ProofRun): History {
  return {
    events: history.events,
    add(actor, event) {
      history.add(actor, event);
      switch (event.kind) {
        case "committed":
          run.tell(actor, event.name, event.superseded ? "is superseded" : "commits its effects");
          break;
        case "refused":
          run.tell(actor, event.name, REFUSALS[event.why] ?? `is refused: ${event.why}`);
          break;
        case "failed":
          run.tell(actor, event.name, "writes the failure down and lets it be tried again");
          break;
        case "parked":
          run.tell(actor, event.name, "gives the record up for a dead letter");
          break;
        default:
      }
    },
  };
}

const REFUSALS: Readonly<Record<string, string>> = {
  duplicate: "is told by the ledger that it was done before, and does nothing",
  busy: "is told by the ledger that another is at it, and waits",
  fenced: "is told by the ledger that its claim is another's, and does nothing",
  stale: "is told by the ledger that a newer state was applied",
  parked: "is told by the ledger that it was given up on",
};

interface Step {
  readonly told: ProofEvent;
  readonly counts: Map<string, number>;
}

/** The steps of a run, each a sentence. */
export function storyOf(
  told: readonly ProofEvent[],
  titleOf: (record: string) => string,
): string[] {
  const steps: Step[] = [];
  const open = new Map<string, Step>();
  for (const each of told) {
    const place = `${each.actor} ${each.record}`;
    const former = open.get(place);
    if (former !== undefined && isMoreOf(former.told, each)) {
      former.counts.set(each.what, (former.counts.get(each.what) ?? 0) + 1); // Y1
      continue;
    }
    const step = { told: each, counts: new Map([[each.what, 1]]) };
    steps.push(step);
    open.set(place, step);
  }
  return steps.map((step) => sentenceOf(step, titleOf));
}

/** Reading and asking for effects goes on and on; being refused may, too. */
function isMoreOf(former: ProofEvent, next: ProofEvent): boolean {
  if (former.disturbance || next.disturbance) return false;
  return (former.fold !== null && next.fold !== null) || former.what === next.what;
}

function sentenceOf({ told, counts }: Step, titleOf: (record: string) => string): string {
  const { actor, record, what, fold, disturbance } = told;
  const title = titleOf(record);
  const done = fold === null || counts.size === 1 ? what : foldedText(counts);
  const text = `${actor} ${done}`.replace("the record", title);
  return disturbance ? `${text}  <- fault` : text;
}

function foldedText(counts: ReadonlyMap<string, number>): string {
  const rows = [...counts.keys()].filter((what) => what.startsWith("reads ")).length;
  const effects = [...counts].filter(([what]) => !what.startsWith("reads "));
  const asked = effects.reduce((sum, [, count]) => sum + count, 0);
  const parts = [
    ...(rows === 0 ? [] : [rows === 1 ? "reads 1 row" : `reads ${rows} rows`]),
    ...(asked === 0 ? [] : [asked === 1 ? "asks for 1 effect" : `asks for ${asked} effects`]),
  ];
  return parts.join(" and ");
}
