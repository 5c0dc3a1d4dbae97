// FIFO order: within a message group, records are committed in the order in which the queue
// accepted them. A later record passes an earlier one only if the pipeline skips parked records and
// the earlier one is parked.
//   The queue accepts records in the order in which each producer registered them.
//   A record whose message expired may be passed from the end of its retention period on. The
//   broker erases the message later, so the history may contain that after the commit.

import type { HistoryEvent } from "../history.ts";
import { type Checker, findings } from "./checker.ts";

const NAME = "fifo-order";

interface Line {
  readonly order: string[];
  readonly positions: Map<string, number>;
  /** Everything before this position is done and stays done. */
  from: number;
}

/** The first record before `name` that is not done; a record that is done stays done. */
function overtakenBy(name: string, line: Line, isDone: (other: string) => boolean) {
  const position = line.positions.get(name) ?? 0;
  while (line.from < line.order.length && isDone(line.order[line.from] as string)) line.from += 1;
  for (let at = line.from; at < position; at += 1) {
    const other = line.order[at] as string;
    if (!isDone(other)) return other;
  }
  return undefined;
}

function join(lines: Map<string, Line>, lineName: string, name: string): void {
  const line: Line = lines.get(lineName) ?? { order: [], positions: new Map(), from: 0 };
  lines.set(lineName, line);
  line.positions.set(name, line.order.length);
  line.order.push(name);
}

export const fifoOrder: Checker = {
  name: NAME,
  promise: "Within a message group, records are committed in the order in which they were sent.",
  check(events, { fifo, halts }) {
    const { violations, add } = findings(NAME);
    if (!fifo) return violations;
    const groups = new Map<string, Line>();
    const groupOf = new Map<string, string>();
    const settled = new Set<string>();
    /** Redriven, purged, parked or held: these records may lose their position in the order. */
    const excused = new Set<string>();
    const endedAt = retentionEndsOf(events);
    for (const event of events) {
      if (event.kind === "sent") enter(groups, groupOf, event);
      else if (event.kind === "purged" || event.kind === "moved-back") {
        for (const name of event.names) excused.add(name);
      } else if (event.kind === "parked" && !halts) excused.add(event.name);
      else if (event.kind === "held") excused.add(event.name);
      else if (event.kind === "committed") {
        const { name, at } = event;
        const group = groups.get(groupOf.get(name) ?? "");
        const isExcused = (other: string) =>
          excused.has(other) || at >= (endedAt.get(other) ?? NEVER);
        const isDone = (other: string) => settled.has(other) || isExcused(other);
        const overtaken = group === undefined ? undefined : overtakenBy(name, group, isDone);
        settled.add(name);
        if (overtaken === undefined || isExcused(name)) continue;
        add(
          at,
          [name, overtaken],
          `${name} was committed before ${overtaken}, which was sent before it`,
        );
      }
    }
    return [...violations, ...sentInOrder(events)];
  },
};

const NEVER = Number.POSITIVE_INFINITY;

/** When the retention period of each expired record ended; of its first copy if it had several. */
function retentionEndsOf(events: readonly HistoryEvent[]): Map<string, number> {
  const ends = new Map<string, number>();
  for (const event of events) {
    if (event.kind !== "expired") continue;
    for (const name of event.names) {
      ends.set(name, Math.min(event.endedAt, ends.get(name) ?? NEVER));
    }
  }
  return ends;
}

function enter(
  groups: Map<string, Line>,
  groupOf: Map<string, string>,
  { name, group: groupName }: Extract<HistoryEvent, { kind: "sent" }>,
): void {
  if (groupName === null || groupOf.has(name)) return;
  groupOf.set(name, groupName);
  join(groups, groupName, name);
}

/** Each producer's records of a group are sent in the order in which it registered them. */
function sentInOrder(events: readonly HistoryEvent[]) {
  const { violations, add } = findings(NAME);
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
      const overtaken =
        line === undefined ? undefined : overtakenBy(name, line, (other) => sent.has(other));
      if (overtaken === undefined) continue;
      add(
        at,
        [name, overtaken],
        `${name} was sent before ${overtaken}, which was registered before it`,
      );
    }
  }
  return violations;
}
