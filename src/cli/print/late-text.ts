// Late text: held records and releases, as lines and as JSON.

import { counted } from "../../core/encoding/counted.ts";
import { formatInstant } from "../../core/encoding/rfc3339.ts";
import type { ListedHeld, ReleaseEvent, ReleaseSummary } from "../../operate/late.ts";

const STATES = {
  held: "held",
  releasing: "release begun, not sent",
  released: "released, not committed yet",
  sending: "not sent yet",
  sent: "sent",
} as const;

export function heldLine({ note, state }: ListedHeld): string {
  const to = note.to === null ? "" : ` to ${note.to}`;
  const since = formatInstant(note.held_at);
  return `${nameOf(note)}  event time ${formatInstant(note.event_time)}  ${STATES[state]}${to} since ${since}`;
}

export function heldJson({ note, state }: ListedHeld): string {
  const { message: _message, parts: _parts, ...shown } = note;
  return JSON.stringify({ state, ...shown });
}

export function releaseLine(event: ReleaseEvent): string {
  const name = nameOf(event.note);
  if (event.kind === "refused") return `not released ${name}: ${event.reason}`;
  return `${event.kind === "planned" ? "would release" : "released"} ${name}`;
}

export function releaseJson(event: ReleaseEvent): string {
  const { record_key, about } = event.note;
  const reason = event.kind === "refused" ? { reason: event.reason } : {};
  return JSON.stringify({ event: event.kind, record_key, about, ...reason });
}

export function releaseSummary(counts: ReleaseSummary, dryRun: boolean): string {
  const { planned, released, refused } = counts;
  if (dryRun) return `${counted(planned, "record")} would be released`;
  const failed = refused === 0 ? "" : `, ${refused} not`;
  return `${counted(released, "record")} released${failed}`;
}

function nameOf({ about, record_key }: ReleaseEvent["note"]): string {
  return about ?? record_key;
}
