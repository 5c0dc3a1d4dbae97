// Pipeline text: the state of a pipeline, as lines and as JSON.

import { counted } from "../../core/encoding/counted.ts";
import { formatInstant } from "../../core/encoding/rfc3339.ts";
import type { EpochMs } from "../../core/units.ts";
import {
  type CountedStatus,
  PAUSE_LOOK_MS,
  type Pause,
  type PipelineStatus,
} from "../../operate/pause.ts";
import { span } from "../screen/pipeline-summary.ts";

export function statusLines(status: PipelineStatus, records: CountedStatus["records"]): string[] {
  const { paused, processes } = status;
  const state = paused === null ? "not paused" : describePause(paused);
  const running =
    processes.length === 0 ? "no process" : counted(processes.length, "process", "processes");
  const lines = [`${nameOf(status)}: ${state}, ${running} running`];
  if (records === null) return lines;
  const { claimed, failed, released, committed, parked } = records;
  const waiting = failed + released;
  lines.push(
    `  in progress ${claimed}, waiting for a retry ${waiting}, committed ${committed}, ` +
      `dead-lettered or held ${parked}`,
  );
  return lines;
}

export function statusJson(
  status: PipelineStatus,
  records: CountedStatus["records"] = null,
): string {
  const { pipeline, generation, paused, processes } = status;
  const { pipeline: _, generation: __, ...counts } = records ?? { pipeline, generation };
  const since = paused === null ? null : { ...paused, since: formatInstant(paused.since) };
  const runs = processes.map(({ id, startedAt, seenAt }) => ({
    id,
    startedAt: formatInstant(startedAt),
    seenAt: formatInstant(seenAt),
  }));
  const facts = { pipeline, generation, paused: since, processes: runs };
  return JSON.stringify(records === null ? facts : { ...facts, records: counts });
}

export function pausedLine(status: PipelineStatus, isNew: boolean): string {
  const { paused, processes } = status;
  const name = nameOf(status);
  if (!isNew && paused !== null) return `${name} was paused already: ${describePause(paused)}`;
  const effect =
    processes.length === 0
      ? "no process runs now; functions and tasks read it at their next start"
      : `${counted(processes.length, "process", "processes")} will stop receiving within ${span(PAUSE_LOOK_MS)}; ` +
        "records in progress finish";
  return `${name} is paused: ${effect}. Resume it with: tidegate pipeline resume ${status.pipeline}`;
}

export function resumedLine(status: PipelineStatus, ended: Pause | null, now: EpochMs): string {
  const name = nameOf(status);
  if (ended === null) return `${name} is not paused; nothing was changed`;
  const length = span(Math.max(0, now - ended.since));
  return `${name} is resumed after ${length}; it receives again within ${span(PAUSE_LOOK_MS)}`;
}

/** What a command prints that a pause makes wait, and when it continues. */
export function waitLine(pipeline: string, pause: Pause | null): string {
  if (pause === null) return `${pipeline} is resumed; continuing.`;
  const resume = `tidegate pipeline resume ${pipeline}`;
  return `Waiting: ${pipeline} is ${describePause(pause)}. Resume it with: ${resume}`;
}

export function waitJson(pause: Pause | null): string {
  if (pause === null) return JSON.stringify({ event: "resumed" });
  return JSON.stringify({ event: "paused", ...pause, since: formatInstant(pause.since) });
}

function describePause({ since, by, reason }: Pause): string {
  const who = by === "" ? "" : ` by ${by}`;
  const why = reason === "" ? "" : ` (${reason})`;
  return `paused since ${formatInstant(since)}${who}${why}`;
}

function nameOf({ pipeline, generation }: PipelineStatus): string {
  return generation === 0 ? pipeline : `${pipeline} (generation ${generation})`;
}
