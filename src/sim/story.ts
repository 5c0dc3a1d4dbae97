// Story: a failing run in words: who did what, when, which fault struck, and what came of it.

import { unreachable } from "../core/assert.ts";
import type { HistoryEvent } from "./history.ts";
import type { SeedReport } from "./run-seed.ts";
import { START_AT } from "./services.ts";

const STEPS_MAX = 80;

/** The first violation of a report as lines of text; `replay` is the command that shows it again. */
export function writeStory(report: SeedReport, replay: string): string[] {
  const [violation] = report.violations;
  if (violation === undefined) return [`Seed ${report.seed}: every promise was kept.`];
  const names = new Set(violation.names);
  const told = report.events.filter((event) => isPart(event, names) && event.at <= violation.at);
  const steps = told.slice(-STEPS_MAX);
  const more = told.length - steps.length;
  return [
    `Seed ${report.seed} breaks "${violation.checker}": ${violation.message}.`,
    `  ${settingOf(report)}`,
    "",
    ...(more > 0 ? [`  (${more} earlier steps are left out)`] : []),
    ...steps.map((event, at) => {
      const number = String(at + 1).padStart(3);
      return `${number}. ${timeOf(event.at)}  ${event.actor}: ${sentenceOf(event)}`;
    }),
    `     ${timeOf(violation.at)}  => ${violation.message}`,
    "",
    `  Replay: ${replay}`,
  ];
}

function settingOf({ topology, fired, traceHash }: SeedReport): string {
  const { contents, fifo, producers, consumers, lease, sink, visibilityMs } = topology;
  const queue = fifo ? "FIFO" : "standard";
  const makers = contents === "objects" ? "a bucket" : `${producers} producers`;
  const terms = `lease ${lease}, ${sink} sink, visibility ${visibilityMs} ms`;
  const trace = `${fired.length} faults, trace ${traceHash}`;
  return `${makers}, a ${queue} queue, ${consumers} consumers (${terms}); ${trace}`;
}

function isPart(event: HistoryEvent, names: ReadonlySet<string>): boolean {
  if (event.kind === "fault" || event.kind === "process" || event.kind === "quiet") return true;
  if ("name" in event) return names.has(event.name);
  return "names" in event && event.names.some((name) => names.has(name));
}

function timeOf(at: number): string {
  const ms = at - START_AT;
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const seconds = ((ms / 1_000) % 60).toFixed(3).padStart(6, "0");
  return `${hours}:${String(minutes).padStart(2, "0")}:${seconds}`;
}

function sentenceOf(event: HistoryEvent): string {
  switch (event.kind) {
    case "registered":
      return `${event.name} is in the outbox${event.group === null ? "" : ` (${event.group})`}`;
    case "sent":
      return `${event.name} is in the queue, as message ${short(event.messageId)}`;
    case "dead-letter":
      return `${event.name} becomes a dead letter`;
    case "delivered": {
      const which = `message ${short(event.messageId)}`;
      return `is handed ${event.names.join(", ")} (${which}, time ${event.receiveCount})`;
    }
    case "claimed":
      return `claims ${event.name}, attempt ${event.attempt}, fence ${event.fence - START_AT}`;
    case "refused":
      return `is told that ${event.name} is ${event.why}`;
    case "handling":
      return `runs the handler on ${event.name}, attempt ${event.attempt}`;
    case "effect":
      return `${event.accepted ? "applies" : "is refused"} the effect ${event.value}`;
    case "committed":
      return `commits ${event.name}${event.superseded ? ", superseded" : ""}`;
    case "failed":
      return `${event.name} failed, attempt ${event.attempts}: ${event.why}`;
    case "parked":
      return `gives ${event.name} up after ${event.attempts} attempts: ${event.why}`;
    default:
      return otherSentenceOf(event);
  }
}

type Told =
  | "registered"
  | "sent"
  | "dead-letter"
  | "delivered"
  | "claimed"
  | "refused"
  | "handling"
  | "effect"
  | "committed"
  | "failed"
  | "parked";

function otherSentenceOf(event: Exclude<HistoryEvent, { kind: Told }>): string {
  switch (event.kind) {
    case "released":
    case "reopened":
      return `${event.name} is ${event.kind}`;
    case "acked":
      return `acknowledges message ${short(event.messageId)} (${event.names.join(", ")})`;
    case "moved-back":
      return `dead letters are moved back: ${event.names.join(", ")}`;
    case "purged":
      return `the queue is purged of ${event.names.length} messages`;
    case "expired":
      return `the queue keeps it no longer: ${event.names.join(", ")}`;
    case "watermark":
      return `keeps the watermark ${event.stored - START_AT}`;
    case "object":
      return `${event.object} is ${event.change} (${event.name}, ${event.sequencer})`;
    case "process":
      return event.what;
    case "fault":
      return `FAULT ${event.id}: ${event.what}`;
    case "quiet":
      return "the faults have stopped";
    case "end":
      return event.drained ? "everything has drained" : "time is up";
    default:
      return unreachable(event);
  }
}

function short(messageId: string): string {
  return messageId.slice(0, 8);
}
