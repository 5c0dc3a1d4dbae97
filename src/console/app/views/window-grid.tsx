// Window grid: the hours of event time, a row per day. Each hour is a link to its records.

import type { ApiSchema } from "../../api/api-schema.ts";
import { amountText, clockText, countText, timeText } from "../data/format.ts";
import { linkTo } from "../data/route.ts";
import { Panel } from "../parts/layout.tsx";
import { Empty } from "../parts/notices.tsx";

type TimeWindow = ApiSchema["Window"];

const STATUS_WORDS: Readonly<Record<TimeWindow["status"], string>> = {
  complete: "Complete",
  open: "Open",
  problem: "Has dead letters or held records",
  future: "Future",
};

export function WindowGrid({ windows }: { readonly windows: readonly TimeWindow[] }) {
  return (
    <Panel
      title="Windows"
      note="hours of event time, UTC"
      actions={
        <ul class="legend">
          {Object.entries(STATUS_WORDS).map(([status, words]) => (
            <li key={status} data-status={status}>
              {words}
            </li>
          ))}
        </ul>
      }
    >
      {windows.length === 0 ? (
        <Empty title="No windows yet">Windows appear when the pipeline has a watermark.</Empty>
      ) : (
        <div class="days">
          {byDay(windows).map(([day, hours]) => (
            <div class="day" key={day}>
              <span class="muted">{day}</span>
              <ul class="windows">
                {hours.map((hour) => (
                  <li key={hour.from}>
                    <a
                      class="window"
                      data-status={hour.status}
                      href={linkTo(["records"], { since: hour.from })}
                      title={describe(hour)}
                    >
                      <span>{clockText(hour.from).slice(0, 2)}</span>
                      <strong>{hour.records === 0 ? "" : compact(hour)}</strong>
                      <span class="hidden-text">{describe(hour)}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          ))}
        </div>
      )}
    </Panel>
  );
}

function byDay(windows: readonly TimeWindow[]): [string, TimeWindow[]][] {
  const days = new Map<string, TimeWindow[]>();
  for (const hour of windows) {
    const day = timeText(hour.from).slice(0, "2026-03-02".length);
    const hours = days.get(day) ?? [];
    hours.push(hour);
    days.set(day, hours);
  }
  return [...days];
}

function compact({ records, recordsMore }: TimeWindow): string {
  const text = records >= 10_000 ? `${Math.floor(records / 1_000)}k` : countText(records);
  return `${text}${recordsMore ? "+" : ""}`;
}

function describe(hour: TimeWindow): string {
  const { from, status, records, recordsMore, deadLettered, late, held } = hour;
  const parts = [
    `${timeText(from)}: ${STATUS_WORDS[status].toLowerCase()}`,
    `${amountText(records, "record")}${recordsMore ? " or more" : ""}`,
    deadLettered > 0 ? amountText(deadLettered, "dead letter") : null,
    late > 0 ? `${countText(late)} late` : null,
    held > 0 ? `${countText(held)} held` : null,
  ];
  return parts.filter((part) => part !== null).join(", ");
}
