// Mistake story: the shortest run of a mistake, for a reader who does not know the simulator.
//   Y1. Times count from the first step of the record. The first start of a process is left out.
//   Y2. Nothing is invented: every line is an event of the run.

import type { HistoryEvent } from "../history.ts";
import type { SeedReport } from "../run-seed.ts";
import { isRelated, sentenceOf } from "../story.ts";
import type { Mistake } from "./small-world.ts";

const FIRST_START = /^starts \(incarnation 1\)$/;

/** The run with the mistake, and what the same run does without it. */
export function mistakeStory(
  { shows, broken, fixed }: Mistake,
  reports: { readonly broken: SeedReport; readonly fixed: SeedReport },
): string[] {
  const [violation] = reports.broken.violations;
  if (violation === undefined) return [];
  const names = new Set(violation.names);
  const steps = reports.broken.events.filter((event) => {
    return isRelated(event, names) && event.at <= violation.at && !isNoise(event, reports.broken);
  });
  const from = steps[0]?.at ?? violation.at; // Y1
  const line = (at: number, text: string) => `  ${timeSince(from, at)}  ${text}`;
  return [
    `In the simulator, with this setting: ${broken.setting}.`,
    shows,
    "",
    `  ${worldOf(reports.broken)}`,
    "",
    ...steps.map((event) => line(event.at, plainSentence(event))), // Y2
    line(violation.at, `=> ${violation.message}`),
    "",
    fixedText(fixed.setting, reports.fixed),
  ];
}

function isNoise(event: HistoryEvent, { fired }: SeedReport): boolean {
  if (event.kind === "quiet") return fired.length === 0;
  return event.kind === "process" && FIRST_START.test(event.what);
}

function plainSentence(event: HistoryEvent): string {
  return sentenceOf(event)
    .replace(/ \(incarnation \d+\)$/, " again")
    .replace(/ with the event time .*$/, "")
    .replace(", undefined)", ")"); // A plain consumer has no lanes.
}

/** `1 min 3.200 s` would be harder to compare: seconds, with a sign. */
function timeSince(from: number, at: number): string {
  return `+${((at - from) / 1_000).toFixed(3)} s`.padStart(13);
}

function worldOf({ topology, fired }: SeedReport): string {
  const { fifo, producers, consumers } = topology;
  const faults = fired.length === 0 ? "no faults" : counted(fired.length, "injected fault");
  const queue = `a ${fifo ? "FIFO" : "standard"} queue`;
  return `${counted(producers, "producer")}, ${queue}, ${counted(consumers, "consumer")}, ${faults}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function fixedText(setting: string, { violations, fired }: SeedReport): string {
  const same = fired.length === 0 ? "records" : "records and faults";
  const outcome = violations.length === 0 ? "no harm is done" : "the same happens";
  return `The fix: ${setting}. With the same ${same}, ${outcome}.`;
}
