// Kills a process in the middle of its commits, again and again, on one file.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLedger } from "../../src/run/open/open-ledger.ts";
import { random, systemClock, turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { KILL_SCOPE, killKeys } from "./ledger-kill-worker.ts";

const WORKER = new URL("./ledger-kill-worker.ts", import.meta.url).pathname;
const KILLS = 4;
const folder = useTemporaryFolder("kill");

/** Runs a worker until it has reported some batches, kills it, and returns the reported batches. */
async function runAndKill(url: string, from: number, batches: number): Promise<number[]> {
  const child = spawn(process.execPath, [WORKER, url, String(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let reported = "";
  for await (const chunk of child.stdout) {
    reported += chunk;
    if (reported.split("\n").length > batches) child.kill("SIGKILL");
  }
  await ended;
  expect(child.signalCode).toBe("SIGKILL");
  return reported.slice(0, reported.lastIndexOf("\n")).split("\n").map(Number);
}

test("answered calls of a SQLite ledger survive SIGKILL, and each record is complete", async () => {
  const url = `sqlite:${join(folder, "ledger.db")}`;
  const reported: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // The batch in progress is skipped: the dead process still holds its claims.
    const from = (reported.at(-1) ?? -2) + 2;
    reported.push(...(await runAndKill(url, from, 7 + kill)));
    const ledger = await openLedger(url, { clock: systemClock, turn, random });
    for (const key of reported.flatMap(killKeys)) {
      expect((await ledger.show(KILL_SCOPE, key))?.record.kind).toBe("committed");
    }
    // The batch in progress may exist or not; existing records have a matching state and log.
    for (const key of killKeys((reported.at(-1) ?? 0) + 1)) {
      const view = await ledger.show(KILL_SCOPE, key);
      const outcome = view?.entries.some(({ status }) => status === "succeeded") ?? false;
      expect(view?.record.kind === "committed").toBe(outcome);
    }
    expect(await ledger.check()).toEqual([]);
    await ledger.close();
  }
});
