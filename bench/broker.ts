// The broker benchmark: Tidegate's durable server beside a bare echo server and beside fauxqs, in
// one run. See bench/README.md for what the figures mean.
//   B1. Whatever happens, no server and no data folder remains.
//   B2. A missed target is reported, and fails the run only with --strict; a wrong response always
//       does.

import { statfsSync } from "node:fs";
import { runDedup } from "./broker/dedup.ts";
import { runMillion } from "./broker/million.ts";
import { runObjects } from "./broker/objects.ts";
import { type BenchOptions, readOptions, type ServerName, USAGE } from "./broker/options.ts";
import { renderReport } from "./broker/report.ts";
import { freshFolder, openSession, removeFolder, serverArgs } from "./broker/servers.ts";
import { timeEmptyStarts, timeFullStarts } from "./broker/startup.ts";
import { judgeAll, type Results } from "./broker/targets.ts";
import { runThroughput } from "./broker/throughput.ts";

const TMPFS = 0x01021994;
const progress = (line: string): void => console.error(line);

/** Creates folders on demand, and removes them all. B1 */
function createFolders(dir: string): { make(): string; removeAll(): void } {
  const made: string[] = [];
  return {
    make() {
      const folder = freshFolder(dir);
      made.push(folder);
      return folder;
    },
    removeAll: () => made.forEach(removeFolder),
  };
}

async function throughput(options: BenchOptions, make: () => string, results: Results) {
  const sessions = [];
  try {
    for (const name of options.servers) {
      const args = serverArgs(name, make(), options.against);
      sessions.push(await openSession(name, args, options.connections));
    }
    results.throughput = await runThroughput(sessions, options, progress);
  } finally {
    for (const session of sessions) await session.end(); // B1
  }
}

/** Leaves out fauxqs on disk, which needs many minutes for a million messages. */
const withBacklog = (options: BenchOptions, names: readonly ServerName[]): ServerName[] =>
  options.servers.filter((name) => names.includes(name));

async function backlog(options: BenchOptions, make: () => string, results: Results) {
  for (const name of withBacklog(options, ["ours", "ours-memory", "fauxqs"])) {
    const folders = { big: make(), small: make() };
    results.million[name] = await runMillion(name, folders, options, progress);
    if (name !== "ours") continue;
    progress("ours: starting on the full folder");
    results.fullStartup = await timeFullStarts(name, folders.big, options.starts);
  }
}

async function run(options: BenchOptions): Promise<Results> {
  const results: Results = { throughput: {}, million: {}, dedup: {}, startup: {} };
  const folders = createFolders(options.dir);
  const has = (part: BenchOptions["parts"][number]): boolean => options.parts.includes(part);
  try {
    if (has("startup")) {
      for (const name of withBacklog(options, ["ours", "fauxqs-disk"])) {
        results.startup[name] = await timeEmptyStarts(name, options.dir, options.starts);
      }
    }
    if (has("throughput")) await throughput(options, folders.make, results);
    if (has("million")) await backlog(options, folders.make, results);
    if (has("dedup")) {
      for (const name of withBacklog(options, ["ours"])) {
        results.dedup[name] = await runDedup(name, folders.make(), options, progress);
      }
    }
    if (has("objects") && options.servers.includes("ours")) {
      results.objects = await runObjects(folders.make, options, progress);
    }
    return results;
  } finally {
    folders.removeAll();
  }
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === "help") {
    console.log(USAGE);
    return 0;
  }
  if (statfsSync(options.dir).type === TMPFS) {
    progress(
      `warning: ${options.dir} is in memory, where fsync costs nothing; choose another --dir`,
    );
  }
  const results = await run(options);
  const verdicts = judgeAll(results);
  if (options.json) console.log(JSON.stringify({ options, results, verdicts }, null, 2));
  else console.log(renderReport(results));
  if (options.quick) progress("quick: this run is too short for meaningful figures");
  const missed = verdicts.some(({ verdict }) => verdict === "missed");
  return options.strict && missed ? 1 : 0; // B2
}

process.exitCode = await main();
