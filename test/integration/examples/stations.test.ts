// The stations example, all of it: what its generator puts, and what the tables must hold then.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { type Upload, uploads } from "../../../examples/stations/generate.ts";
import stations from "../../../examples/stations/pipeline.ts";
import { seconds } from "../../../src/core/units.ts";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const data = useTemporaryFolder("stations");

test("the same seed makes the same files, another makes others, and all sorts are among them", () => {
  expect(uploads({ seed: 7 })).toEqual(uploads({ seed: 7 }));
  expect(uploads({ seed: 7 })).not.toEqual(uploads({ seed: 8 }));
  const notes = new Set(uploads().map(({ note }) => note));
  expect([...notes].toSorted()).toEqual(["broken", "corrected", "fine", "late", "put again"]);
});

interface Row {
  readonly station: string;
  readonly time: string;
  readonly temperature: number;
}

/** The rows of a file, read as simply as can be; null if it is broken. */
function rowsOf({ key, body }: Upload): Row[] | null {
  const lines = body.split("\n").slice(0, -1);
  if (body === "" || !body.endsWith("\n")) return null;
  try {
    const rows = key.endsWith(".jsonl")
      ? lines.map((line) => JSON.parse(line))
      : lines.slice(1).map((line) => {
          const [station = "", time = "", temperature = ""] = line.split(",");
          return { station, time, temperature: Number(temperature) };
        });
    return rows.every(({ temperature }) => Number.isFinite(temperature)) ? rows : null;
  } catch {
    return null;
  }
}

/** What must be there in the end: of each file, the last that was not broken. */
function expected(files: readonly Upload[]) {
  const last = new Map<string, Row[]>();
  let broken = 0;
  for (const file of files) {
    const rows = rowsOf(file);
    if (rows === null) broken += 1;
    else last.set(file.key, rows);
  }
  const all = [...last.values()].flat();
  const rows = all.map(({ station, time, temperature }) => [station, time, temperature]);
  const days = [...last.values()].map((day) => {
    const values = day.map(({ temperature }) => temperature);
    const { station = "", time = "" } = day[0] ?? {};
    return [station, time.slice(0, 10), values.length, Math.min(...values), Math.max(...values)];
  });
  return { rows: sorted(rows), days: sorted(days), broken };
}

function sorted(rows: unknown[][]): string[] {
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

test("the tables are correct after late, duplicate, corrected and broken files", async () => {
  const files = uploads();
  const wanted = expected(files);
  const faults = [
    { kind: "duplicate", target: { queue: "stations-events" }, probability: 0.2, seed: 5 },
    { kind: "reorder", target: { queue: "stations-events" }, probability: 0.2, seed: 5 },
  ] as const;
  const options = { faults, onLogLine: () => {} };
  const hasty = { ...stations, visibilityMs: seconds(3) };
  const dev = await startDev(hasty, { data, port: 0 }, options);
  try {
    const late = files.filter(({ note }) => note === "late");
    for (const { key, body, note } of files) if (note !== "late") await dev.put(key, body);
    await dev.idle();
    // Files of days before it are late once the ledger has stored it.
    const newest = Date.UTC(2026, 2, 14);
    const twoDays = 2 * 86_400_000;
    await expect.poll(() => dev.snapshot().watermark).toBe(newest - twoDays);
    for (const { key, body } of late) await dev.put(key, body);
    await dev.idle();
    const isLate = ({ key }: Upload) =>
      Date.parse(key.split("/")[1] ?? "") < Number(dev.snapshot().watermark);
    const metrics = await (await fetch(new URL("/metrics", dev.metricsOrigin))).text();
    const [, counted] = /late_events_total\{[^}]*lane="late"[^}]*\} (\d+)/.exec(metrics) ?? [];
    expect(late.filter(isLate).length).toBeGreaterThan(0);
    expect(Number(counted)).toBeGreaterThanOrEqual(late.filter(isLate).length);
    expect(wanted.broken).toBeGreaterThan(0);
    expect(dev.snapshot().deadLettered).toBe(wanted.broken);
    expect(await dev.deadLetterDepth()).toBe(wanted.broken);
  } finally {
    await dev.stop();
  }
  const database = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  const all = (sql: string) =>
    sorted(
      database
        .prepare(sql)
        .all()
        .map((row) => Object.values(row)),
    );
  expect(all("SELECT station, time, temperature FROM observation")).toEqual(wanted.rows);
  expect(all("SELECT station, day, count, low, high FROM station_day")).toEqual(wanted.days);
  database.close();
});
