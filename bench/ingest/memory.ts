// Memory: the resident size of broker, consumer and ledger in one process during a million events,
// one row each.
//   F1. Caches and the ledger's index fill up at first, so only the growth from the second quarter
//       of the events to the last one counts.

import { median } from "../broker/statistics.ts";
import { startContestant } from "./contestant.ts";
import type { RoundReport } from "./gated-queue.ts";
import type { IngestOptions } from "./options.ts";

export interface MemoryResults {
  readonly events: number;
  /** Resident sizes in MiB, after equal shares of the events. */
  readonly rssMib: readonly number[];
  /** The last quarter's median over the second's (F1). */
  readonly growth: number;
  readonly perSecond: number;
}

const SHARES = 100;
const MIB = 1_024 ** 2;

export function growthOf(samples: readonly number[]): number {
  const quarter = Math.ceil(samples.length / 4);
  return median(samples.slice(-quarter)) / median(samples.slice(quarter, 2 * quarter));
}

export async function runMemory(
  { millionMessages: events, concurrency }: IngestOptions,
  folder: string,
  progress: (line: string) => void,
): Promise<MemoryResults> {
  const config = { workload: "table", concurrency, folder };
  const contestant = await startContestant("./embedded-process.ts", config);
  const share = events / SHARES;
  const rssMib: number[] = [];
  let elapsedMs = 0;
  try {
    for (let done = 0; done < SHARES; done += 1) {
      const report = (await contestant.round(share)) as RoundReport & { rssBytes: number };
      rssMib.push(Math.round(report.rssBytes / MIB));
      elapsedMs += report.elapsedMs;
      if (done % 10 === 9) progress(`${share * (done + 1)} events: ${rssMib.at(-1)} MiB resident`);
    }
  } finally {
    await contestant.end();
  }
  return { events, rssMib, growth: growthOf(rssMib), perSecond: (events / elapsedMs) * 1_000 };
}
