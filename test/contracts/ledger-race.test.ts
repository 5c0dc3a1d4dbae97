// Eight processes race for the same keys (TIDEGATE_RACE_KEYS of them; 10,000 in CI).

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/run/open/open-ledger.ts";
import { patienceMs } from "../support/patience.ts";
import { usePostgres } from "../support/stores/database-servers.ts";
import { random, systemClock, turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import type { RaceReport } from "./ledger-race-worker.ts";
import { RACE_SCOPE, raceKey } from "./ledger-race-worker.ts";

const KEYS = Number(process.env.TIDEGATE_RACE_KEYS ?? 400);
const PROCESSES = 8;
const RACE_MS_MAX = patienceMs(600_000);
const REPORT_BYTES_MAX = 64 * 1_024 * 1_024;
const WORKER = new URL("./ledger-race-worker.ts", import.meta.url).pathname;
const run = promisify(execFile);

const folder = useTemporaryFolder("race");
const postgres = await usePostgres({});

async function race(url: string): Promise<RaceReport[]> {
  const options = { maxBuffer: REPORT_BYTES_MAX, timeout: RACE_MS_MAX };
  const racing = Array.from({ length: PROCESSES }, async (_, n) => {
    const args = [WORKER, url, `worker-${n}`, String(KEYS)];
    const { stdout } = await run(process.execPath, args, options);
    return JSON.parse(stdout) as RaceReport;
  });
  return await Promise.all(racing);
}

const urls: [string, string][] = [["SQLite", `sqlite:${join(folder, "race.db")}`]];
if (postgres.available) urls.push(["PostgreSQL", postgres.url]);

describe.each(urls)("eight processes on %s", (_name, url) => {
  test(
    "commit every key once, by the holder of its newest fence",
    async () => {
      const reports = await race(url);
      const newest = new Map<number, number>();
      const fences = reports.flatMap(({ claims }) => claims);
      for (const [n, fence] of fences) newest.set(n, Math.max(newest.get(n) ?? 0, fence));
      const commits = reports.flatMap((report) => report.commits);
      expect(commits.map(([n]) => n).sort((a, b) => a - b)).toEqual(
        Array.from({ length: KEYS }, (_, n) => n),
      );
      for (const [n, fence] of commits) expect(fence).toBe(newest.get(n));
      // No fence occurs twice, and it was a real race: some holders were too late.
      expect(new Set(fences.map(String)).size).toBe(fences.length);
      expect(reports.reduce((sum, { fenced }) => sum + fenced, 0)).toBeGreaterThan(0);
      const ledger = await openLedger(url, { clock: systemClock, turn, random });
      for (const [n, fence] of commits.slice(0, 100)) {
        const view = await ledger.show(RACE_SCOPE, raceKey(n));
        expect(view?.record).toMatchObject({ kind: "committed", fence });
      }
      expect(await ledger.stats()).toMatchObject([{ committed: KEYS, claimed: 0 }]);
      await ledger.close();
    },
    RACE_MS_MAX,
  );
});
