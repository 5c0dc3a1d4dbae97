// Table story: what happened to tables, in the words of a story (story.ts).

import { unreachable } from "../../core/assert.ts";
import type { RowChange, TableEvent } from "./table-events.ts";

const SHOWN_MAX = 8;

export function describeTableEvent(event: TableEvent): string {
  switch (event.kind) {
    case "file":
      return `has ${event.rows.length} rows in the file of ${event.name} (${event.object})`;
    case "table-write":
      return `${describeWrite(event)}; rows: ${describeRows(event.changes)}`;
    case "tables":
      return `finds ${event.rows.length} rows and ${event.quarantined.length} in quarantine`;
    case "replay-registered":
      return `registers the replay ${event.run} of ${event.names.length} records`;
    case "replay-sealed":
      return `completes the shadow of ${event.run} with ${event.rows.length} rows`;
    case "replay-ended":
      return `has ${event.how} the replay ${event.run}`;
    default:
      return unreachable(event);
  }
}

function describeWrite({
  what,
  name,
  run,
  quarantines,
}: Extract<TableEvent, { kind: "table-write" }>): string {
  const quarantine = quarantines ? ", some in quarantine" : "";
  switch (what) {
    case "record":
      return `writes the rows of ${name}${quarantine}`;
    case "redrive":
      return `adds the redriven rows of ${name}${quarantine}`;
    case "replay":
      return `writes the rows of ${name} to the shadow of ${run}${quarantine}`;
    case "promotion":
      return `promotes ${run}`;
    case "other":
      return "changes rows outside of a commit";
    default:
      return unreachable(what);
  }
}

export function describeRows(rows: readonly RowChange[]): string {
  const shown = rows.slice(0, SHOWN_MAX).map(([id, value]) => `${id} = ${value ?? "deleted"}`);
  const more = rows.length > SHOWN_MAX ? [`${rows.length - SHOWN_MAX} more`] : [];
  return rows.length === 0 ? "unchanged" : [...shown, ...more].join(", ");
}
