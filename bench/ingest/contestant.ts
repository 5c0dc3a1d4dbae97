// Contestant: a consumer's process, from its start to its end, which runs one round after another.
//   C1. A round in which the handler did not run exactly once per message fails the run.
//   C2. No process outlives the benchmark.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { RoundReport } from "./gated-queue.ts";

export interface RunningContestant {
  round(count: number): Promise<RoundReport>;
  end(): Promise<void>;
}

const ANSWER_MS_MAX = 300_000;

/** Starts `script` (beside this file) with `config`; resolves when it is ready. */
export async function startContestant(script: string, config: object): Promise<RunningContestant> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, path, JSON.stringify(config)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const reap = (): boolean => child.kill("SIGKILL");
  process.once("exit", reap); // C2
  child.once("exit", () => process.removeListener("exit", reap));
  await answerOf(child);
  return {
    async round(count) {
      const answer = answerOf(child);
      child.send({ round: count });
      const report = (await answer) as RoundReport & { readonly handled: number };
      if (report.handled === count) return report;
      throw new Error(`${report.handled} of ${count} messages were handled`); // C1
    },
    async end() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.send("end");
      await once(child, "exit");
    },
  };
}

/** The next message of a child; throws if the child ends or stays silent. */
async function answerOf(child: ChildProcess): Promise<unknown> {
  const heard = new AbortController();
  const { signal } = heard;
  const late = setTimeout(() => child.kill("SIGKILL"), ANSWER_MS_MAX);
  try {
    return await Promise.race([
      once(child, "message", { signal }).then(([message]) => message),
      once(child, "exit", { signal }).then(([code, name]) => {
        throw new Error(`a consumer's process ended with ${code ?? name}`);
      }),
    ]);
  } finally {
    clearTimeout(late);
    heard.abort();
  }
}
