// FIFO order: within a message group, records are committed in the order the queue took them, and
// none is passed by a later one unless it was given up on and the pipeline says to skip.
//   The queue takes them in the order each producer registered them.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "fifo-order";

interface Line {
  readonly order: string[];
  readonly places: Map<string, number>;
  /** Everything before this place is out of the way for good. */
  from: number;
}

/** The first before `name` that is not out of the way; what is once out of it stays so. */
function passedBy(name: string, line: Line, isAway: (other: string) => boolean) {
  const place = line.places.get(name) ?? 0;
  while (line.from < line.order.length && isAway(line.order[line.from] as string)) line.from += 1;
  for (let at = line.from; at < place; at += 1) {
    const other = line.order[at] as string;
    if (!isAway(other)) return other;
  }
  return undefined;
}

function join(lines: Map<string, Line>, lineName: string, name: string): void {
  const line: Line = lines.get(lineName) ?? { order: [], places: new Map(), from: 0 };
  lines.set(lineName, line);
  line.places.set(name, line.order.length);
  line.order.push(name);
}

export const fifoOrder: Checker = {
  name: NAME,
  promise: "Within a message group, records are committed in the order in which they were sent.",
  check(events, { fifo, halts }) {
    const { found, add } = findings(NAME);
    if (!fifo) return found;
    const groups = new Map<string, Line>();
    const groupOf = new Map<string, string>();
    const settled = new Set<string>();
    /** Brought back, purged, expired or given up on: their place in the order is lost by right. */
    const excused = new Set<string>();
    for (const event of events) {
      if (event.kind === "sent") enter(groups, groupOf, event);
      else if (event.kind === "purged" || event.kind === "expired" || event.kind === "moved-back") {
        for (const name of event.names) excused.add(name);
      } else if (event.kind === "parked" && !halts) excused.add(event.name);
      else if (event.kind === "committed") {
        const { name, at } = event;
        const group = groups.get(groupOf.get(name) ?? "");
        const isAway = (other: string) => settled.has(other) || excused.has(other);
        const passed = group === undefined ? undefined : passedBy(name, group, isAway);
        settled.add(name);
        if (passed === undefined || excused.has(name)) continue;
        add(at, [name, passed], `${name} was committed before ${passed}, which was sent before it`);
      }
    }
    return [...found, ...sentInOrder(events)];
  },
};

function enter(
  groups: Map<string, Line>,
  groupOf: Map<string, string>,
  { name, group: groupName }: Extract<HistoryEvent, { kind: "sent" }>,
): void {
  if (groupName === null || groupOf.has(name)) return;
  groupOf.set(name, groupName);
  join(groups, groupName, name);
}

/** Each producer's records of a group leave in the order in which it registered them. */
function sentInOrder(events: readonly HistoryEvent[]) {
  const { found, add } = findings(NAME);
  const lines = new Map<string, Line>();
  const lineOf = new Map<string, string>();
  const sent = new Set<string>();
  for (const event of events) {
    if (event.kind === "registered") {
      if (event.group === null || lineOf.has(event.name)) continue;
      const line = `${event.actor} ${event.group}`;
      lineOf.set(event.name, line);
      join(lines, line, event.name);
    } else if (event.kind === "sent" && !sent.has(event.name)) {
      const { name, at } = event;
      sent.add(name);
      const line = lines.get(lineOf.get(name) ?? "");
      const passed =
        line === undefined ? undefined : passedBy(name, line, (other) => sent.has(other));
      if (passed === undefined) continue;
      add(at, [name, passed], `${name} was sent before ${passed}, which was registered before it`);
    }
  }
  return found;
}
