// Weather stations: reads files of observations and writes two tables.
//
// A station uploads one file per day, as CSV or as JSON Lines, to s3://stations/observations/.
// Every row becomes a row of `observation`, and every day a row of `station_day`. Some files arrive
// twice, arrive late, are corrected or are broken; the tables stay correct.

import { PermanentError, pipeline, tables } from "tidegate";
import { z } from "zod";

/** CSV cells are text, and empty if nothing was measured; JSON Lines have numbers. */
const measured = (low: number, high: number) =>
  z.preprocess(
    (cell) => (cell === "" || cell === undefined ? null : cell),
    z.coerce.number().min(low).max(high).nullable(),
  );

const observation = z.object({
  station: z.string().regex(/^[A-Z]{3}\d\d$/, "must be three letters and two digits"),
  time: z.iso.datetime(),
  temperature: measured(-90, 60),
  humidity: measured(0, 100),
  wind: measured(0, 120),
  /** Who read the instruments: personal data, hidden by `mask` below. */
  observer: z.string().optional(),
});

interface StationDay {
  readonly station: string;
  readonly day: string;
  readonly count: number;
  readonly low: number;
  readonly high: number;
}

export default pipeline({
  name: "stations",
  source: { bucket: "stations", prefix: "observations/" },
  schema: observation,
  mask: ["observer"],
  // A file is about the day in its name: observations/2026-03-01/BER01.csv. One of a day more than
  // two days before the newest is late data.
  eventTime: {
    of({ object }) {
      const day = /\/(\d{4}-\d\d-\d\d)\//.exec(object.key)?.[1];
      return day === undefined ? null : `${day}T00:00:00Z`;
    },
    outOfOrderMs: 2 * 86_400_000,
  },
  concurrency: 8,
  retry: { attempts: 5, baseMs: 500 },
  onRemoved: "delete-rows", // A withdrawn file takes its rows with it. By default they stay.

  sink: tables({
    observation: {
      columns: {
        station: "text",
        time: "text",
        temperature: "real",
        humidity: "real",
        wind: "real",
      },
      key: ["station", "time"],
    },
    station_day: {
      columns: { station: "text", day: "text", count: "integer", low: "real", high: "real" },
      key: ["station", "day"],
    },
  }),

  // The handler does not write. When it returns, Tidegate commits its rows and the ledger's
  // "committed" in one transaction: all rows of a file once, or none.
  async handler(file, { upsert }) {
    const days = new Map<string, StationDay>();

    for await (const { station, time, temperature, humidity, wind } of file.rows()) {
      upsert("observation", { station, time, temperature, humidity, wind });
      if (temperature === null) continue;
      const day = time.slice(0, "2026-01-31".length);
      const previous = days.get(station + day) ?? { count: 0, low: temperature, high: temperature };
      days.set(station + day, {
        station,
        day,
        count: previous.count + 1,
        low: Math.min(previous.low, temperature),
        high: Math.max(previous.high, temperature),
      });
    }

    // A retry cannot help an empty file, so it goes to the dead-letter queue immediately.
    if (days.size === 0)
      throw new PermanentError("the file has no temperature", { class: "empty" });
    for (const day of days.values()) upsert("station_day", day);
  },
});
