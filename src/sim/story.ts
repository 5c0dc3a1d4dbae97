// Story: a failing run as a timeline: which process did what and when, and which faults fired.

import type { HistoryEvent } from "./history.ts";
import type { SeedReport } from "./run-seed.ts";
import { START_AT } from "./services.ts";
import type { TableEvent } from "./tables/table-events.ts";
import { describeTableEvent } from "./tables/table-story.ts";

const STEPS_MAX = 80;

/** The first violation of a report as lines of text; `replay` is the command that runs it again. */
export function writeStory(report: SeedReport, replay: string): string[] {
  const [violation] = report.violations;
  if (violation === undefined) return [`Seed ${report.seed}: every promise was kept.`];
  const names = new Set(violation.names);
  const related = report.events.filter((event) => {
    return isRelated(event, names) && event.at <= violation.at;
  });
  const steps = related.slice(-STEPS_MAX);
  const more = related.length - steps.length;
  return [
    `Seed ${report.seed} breaks "${violation.checker}": ${violation.message}.`,
    `  ${settingOf(report)}`,
    "",
    ...(more > 0 ? [`  (${more} earlier steps omitted)`] : []),
    ...steps.map((event) => `  ${timeOf(event.at)}  ${sentenceOf(event)}`),
    `  ${timeOf(violation.at)}  => ${violation.message}`,
    "",
    `  Replay: ${replay}`,
  ];
}

function settingOf({ topology, fired, traceHash }: SeedReport): string {
  const { contents, fifo, producers, consumers, lease, sink, visibilityMs } = topology;
  const queue = fifo ? "FIFO" : "standard";
  const sources = contents === "objects" ? "a bucket" : `${producers} producers`;
  const settings = `lease ${lease}, ${sink} sink, visibility ${visibilityMs} ms`;
  const trace = `${fired.length} faults, trace ${traceHash}`;
  return `${sources}, a ${queue} queue, ${consumers} consumers (${settings}); ${trace}`;
}

/** Whether an event belongs to the story of some records. */
export function isRelated(event: HistoryEvent, names: ReadonlySet<string>): boolean {
  if (event.kind === "fault" || event.kind === "process" || event.kind === "quiet") return true;
  if ("name" in event) return names.has(event.name);
  return "names" in event && event.names.some((name) => names.has(name));
}

/** Seconds since the world started: `t+3.200s`. */
function timeOf(at: number): string {
  return `t+${((at - START_AT) / 1_000).toFixed(3)}s`.padStart(12);
}

/** What happened, in a sentence without its time. */
export function sentenceOf(event: HistoryEvent): string {
  if (event.kind === "fault") return `FAULT ${event.what} (${event.id})`;
  if (event.kind === "quiet") return "faults stop";
  if (event.kind === "end") return event.drained ? "all queues are drained" : "time limit reached";
  return `${event.actor} ${actionOf(event)}`;
}

function actionOf(event: Exclude<HistoryEvent, { kind: "fault" | "quiet" | "end" }>): string {
  switch (event.kind) {
    case "republished":
      return `republishes ${event.name} in epoch ${event.epoch}`;
    case "registered":
      return `writes ${event.name} to the outbox${inGroup(event.group)}`;
    case "sent":
      return `sends ${event.name} to the queue (message ${short(event.messageId)})`;
    case "dead-letter":
      return `sends ${event.name} to the dead-letter queue`;
    case "delivered": {
      const which = `message ${short(event.messageId)}, receive ${event.receiveCount}`;
      return `receives ${event.names.join(", ")} (${which})`;
    }
    case "claimed":
      return `claims ${event.name} (attempt ${event.attempt}, fence ${event.fence - START_AT}, ${event.lane.lane})`;
    case "checked":
      return `asks for ${event.name}, which the ledger ${event.exists ? "has" : "does not have"}`;
    case "refused":
      return `is refused ${event.name} by the ledger: ${event.why}`;
    case "handling":
      return `runs the handler on ${event.name} (attempt ${event.attempt}, ${event.lane.lane})`;
    case "effect":
      return event.accepted
        ? `applies the effect ${event.value}`
        : `requests the effect ${event.value}, which the sink ignores as outdated`;
    case "committed":
      return `commits ${event.name}${event.superseded ? " (superseded)" : ""}`;
    case "failed":
      return `fails ${event.name} (attempt ${event.attempts}): ${event.why}`;
    case "held":
      return `parks ${event.name} as too late, for the ${event.to}`;
    case "parked":
      return `parks ${event.name} after ${event.attempts} attempts: ${event.why}`;
    default:
      return otherActionOf(event);
  }
}

type OtherKind =
  | "audited"
  | "archived"
  | "read"
  | "not-replayable"
  | "messages-replayed"
  | "timed"
  | "drew"
  | "late-sent"
  | "exposed"
  | "complete"
  | "released"
  | "reopened"
  | "acked"
  | "moved-back"
  | "purged"
  | "expired"
  | "watermark"
  | "object"
  | "listed"
  | "breaker"
  | "batch-complete"
  | "paused"
  | "resumed"
  | "process"
  | TableEvent["kind"];

function otherActionOf(event: Extract<HistoryEvent, { kind: OtherKind }>): string {
  switch (event.kind) {
    case "timed":
      return `creates ${event.name} with the event time ${timeOf(event.eventTime).trim()}`;
    case "drew": {
      const { now, random, uuid } = event.values;
      return `gives ${event.name} the time ${timeOf(now).trim()}, ${random} and ${uuid}`;
    }
    case "late-sent":
      return `sends ${event.name} to the late queue (message ${short(event.messageId)})`;
    case "exposed":
      return `writes the ${event.by} value of ${event.name} to ${event.where}`;
    case "complete":
      return `reports that everything before ${timeOf(event.value).trim()} is settled`;
    case "released":
      return `releases ${event.name}`;
    case "reopened":
      return `reopens ${event.name}`;
    case "acked":
      return `acknowledges message ${short(event.messageId)} (${event.names.join(", ")})`;
    case "moved-back":
      return `moves dead letters back to the queue: ${event.names.join(", ")}`;
    case "purged":
      return `purges the queue of ${event.names.length} messages`;
    case "expired":
      return `deletes expired messages: ${event.names.join(", ")}`;
    case "watermark":
      return `stores watermark ${timeOf(event.stored).trim()}`;
    case "object":
      return `${event.change === "put" ? "puts" : "removes"} ${event.object} (${changeOf(event)})`;
    case "listed":
      return `lists ${event.name}`;
    case "archived":
      return `archives ${event.name}`;
    case "read":
      return `gives the handler ${event.name}${event.replayed ? " again, in a replay" : ""}`;
    case "not-replayable":
      return `finds that ${event.object} cannot be replayed: ${event.reason}`;
    case "messages-replayed":
      return `has replayed ${event.committed} of ${event.inputs} messages`;
    case "audited":
      return `audits ${event.findings.length} object versions`;
    case "breaker":
      return event.open ? "stops receiving: its breaker opens" : "receives again";
    case "batch-complete":
      return `finds that the batch ${event.batch} is complete`;
    case "paused":
      return "pauses the pipeline";
    case "resumed":
      return "resumes the pipeline";
    case "process":
      return event.what;
    default:
      return describeTableEvent(event);
  }
}

function inGroup(group: string | null): string {
  return group === null ? "" : ` (group ${group})`;
}

function changeOf({ name, sequencer }: { readonly name: string; readonly sequencer: string }) {
  return `${name}, sequencer ${sequencer}`;
}

function short(messageId: string): string {
  return messageId.slice(0, 8);
}
