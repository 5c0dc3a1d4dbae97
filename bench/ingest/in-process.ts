// In process: broker, consumer and ledger in one durable process on two cores. The process is a
// child of the benchmark, so that each workload starts with a fresh heap.

import { join } from "node:path";
import { type RunningContestant, startContestant } from "./contestant.ts";
import type { RoundReport } from "./gated-queue.ts";
import { type Rate, rateOf } from "./http.ts";
import type { IngestOptions } from "./options.ts";
import { WORKLOADS, type Workload } from "./workload.ts";

export type InProcessResults = Partial<Record<Workload, Rate>>;

export async function runInProcess(
  options: IngestOptions,
  folder: string,
  progress: (line: string) => void,
): Promise<InProcessResults> {
  const { messages, rounds, concurrency } = options;
  const running = new Map<Workload, RunningContestant>();
  const reports = new Map<Workload, RoundReport[]>(WORKLOADS.map((name) => [name, []]));
  try {
    for (const workload of WORKLOADS) {
      const config = { workload, concurrency, folder: join(folder, workload) };
      running.set(workload, await startContestant("./embedded-process.ts", config));
    }
    for (let round = 0; round <= rounds; round += 1) {
      for (const [workload, contestant] of running) {
        const report = await contestant.round(messages);
        if (round === 0) continue;
        reports.get(workload)?.push(report);
        const { medianPerSecond, cpuMicros } = rateOf([report], messages);
        const figures = `${Math.round(medianPerSecond)}/s, ${Math.round(cpuMicros)} us of CPU each`;
        progress(`in-process round ${round} ${workload}: ${figures}`);
      }
    }
  } finally {
    for (const contestant of running.values()) await contestant.end();
  }
  return Object.fromEntries([...reports].map(([name, all]) => [name, rateOf(all, messages)]));
}
