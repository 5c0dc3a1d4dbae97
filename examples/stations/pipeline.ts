// Weather stations: files of observations in, two tables out.
//
// A station uploads one file per day, as CSV or as JSON Lines, to s3://stations/observations/.
// Every row becomes a row of `observation`, and every day a row of `station_day`. Files come twice,
// come late, are corrected, and some are broken; the tables stay right all the same.

import { PermanentError, pipeline, tables } from "tidegate";
import { z } from "zod";

/** CSV has only text, and an empty cell where nothing was measured; JSON Lines have numbers. */
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
  /** Who read the instruments: personal data, see `mask` below. */
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
  concurrency: 8,
  retry: { attempts: 5, baseMs: 500 },

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

  // Nothing is written while this runs. What it asks for is written in one transaction with the
  // ledger's "done", once it has returned: all of a file, once, or nothing.
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

    // Trying again will not fill an empty file, so that it goes to the dead letters at once.
    if (days.size === 0) throw new PermanentError("no temperature in it", { class: "empty" });
    for (const day of days.values()) upsert("station_day", day);
  },
});
