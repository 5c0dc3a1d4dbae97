// Generates the uploads of the stations. The same seed gives the same files.
//
//   tidegate dev examples/stations/pipeline.ts --feed examples/stations/generate.ts
//   npm run example examples/stations/generate.ts FOLDER    # writes the same files to a folder
//
// Most files are fine. Some are put twice, some are corrected later, some are for a day long past,
// and some are broken in ways that real files are.

import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Upload {
  readonly key: string;
  readonly body: string;
  /** What is special about it; shown on the screen. */
  readonly note: "fine" | "corrected" | "put again" | "late" | "broken";
  /** How long to wait before the file is put. */
  readonly waitMs: number;
}

const STATIONS = ["BER01", "BRE02", "HAM03", "HEL04", "SYL05"];
const FIRST_DAY = Date.UTC(2026, 2, 1);
const DAY_MS = 86_400_000;
const READINGS_A_DAY = 24;
const WAIT_MS_MAX = 400;
/** Files out of a hundred that are corrected, put again, late and broken. */
const SHARES = { corrected: 6, again: 12, late: 8, broken: 5 };

interface Options {
  readonly seed?: number;
  readonly days?: number;
}

/** Every upload of `days` days, in the order in which they are put. */
export function uploads({ seed = 1, days = 14 }: Options = {}): Upload[] {
  const random = seeded(seed);
  const put: Upload[] = [];
  const late: Upload[] = [];
  for (let day = 0; day < days; day += 1) {
    for (const station of STATIONS) {
      const upload = fileOf(station, day, random);
      const draw = random() * 100;
      if (draw < SHARES.late) {
        late.push({ ...upload, note: "late" });
        continue;
      }
      put.push(upload);
      if (draw < SHARES.late + SHARES.again) put.push({ ...upload, note: "put again" });
      else if (draw < SHARES.late + SHARES.again + SHARES.corrected) {
        put.push({ ...fileOf(station, day, random), key: upload.key, note: "corrected" });
      }
    }
  }
  return [...put, ...late];
}

/** What `tidegate dev --feed` puts into the bucket. */
export default function* feed(): Generator<Upload> {
  yield* uploads({ seed: Number(process.env.STATIONS_SEED ?? 1) });
}

function fileOf(station: string, day: number, random: () => number): Upload {
  const date = new Date(FIRST_DAY + day * DAY_MS).toISOString().slice(0, "2026-03-01".length);
  const asJson = Number(station.at(-1)) % 2 === 0;
  const key = `observations/${date}/${station}.${asJson ? "jsonl" : "csv"}`;
  const rows = readings(station, day, random);
  const body = asJson ? jsonLinesOf(rows) : csvOf(rows);
  const broken = random() * 100 < SHARES.broken;
  return {
    key,
    body: broken ? breakIt(body, random) : body,
    note: broken ? "broken" : "fine",
    waitMs: Math.floor(random() * WAIT_MS_MAX),
  };
}

interface Reading {
  readonly station: string;
  readonly time: string;
  readonly temperature: number;
  readonly humidity: number;
  readonly wind: number | null;
  readonly observer: string;
}

function readings(station: string, day: number, random: () => number): Reading[] {
  return Array.from({ length: READINGS_A_DAY }, (_, hour) => {
    const at = FIRST_DAY + day * DAY_MS + hour * (DAY_MS / READINGS_A_DAY);
    const warmth = 6 + day / 4 - 5 * Math.cos((hour / READINGS_A_DAY) * 2 * Math.PI);
    return {
      station,
      time: new Date(at).toISOString(),
      temperature: tenths(warmth + 3 * random()),
      humidity: tenths(45 + 50 * random()),
      wind: random() < 0.1 ? null : tenths(15 * random()),
      observer: random() < 0.5 ? "A. Wren" : "B. Swift",
    };
  });
}

function csvOf(rows: readonly Reading[]): string {
  const head = "station,time,temperature,humidity,wind,observer";
  const lines = rows.map((row) => Object.values(row).map((cell) => cell ?? ""));
  return `${[head, ...lines.map((cells) => cells.join(","))].join("\n")}\n`;
}

function jsonLinesOf(rows: readonly Reading[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** A reading that is none, a file cut short, or one of which nothing arrived. */
function breakIt(body: string, random: () => number): string {
  const ways = [
    () => body.replace(/(T05:00:00\.000Z"?,(?:"temperature":)?)-?[\d.]+/, '$1"n/a"'),
    () => body.slice(0, Math.floor(body.length * 0.7)),
    () => "",
  ];
  return (ways[Math.floor(random() * ways.length)] ?? (() => body))();
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Fractions in [0, 1) that follow from the seed alone (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (process.argv[1] === import.meta.filename) {
  const [folder = "inbox"] = process.argv.slice(2);
  mkdirSync(folder, { recursive: true });
  for (const { key, body } of uploads()) {
    writeFileSync(join(folder, key.replace("observations/", "").replace("/", "-")), body);
  }
  console.log(`wrote ${uploads().length} files into ${basename(folder)}`);
}
