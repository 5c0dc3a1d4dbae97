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

/** Runs a worker until it has told of some batches, kills it, and gives the batches told. */
async function runAndKill(url: string, from: number, batches: number): Promise<number[]> {
  const child = spawn(process.execPath, [WORKER, url, String(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let told = "";
  for await (const chunk of child.stdout) {
    told += chunk;
    if (told.split("\n").length > batches) child.kill("SIGKILL");
  }
  await ended;
  expect(child.signalCode).toBe("SIGKILL");
  return told.slice(0, told.lastIndexOf("\n")).split("\n").map(Number);
}

test("what a SQLite ledger has answered survives SIGKILL, and each record is whole", async () => {
  const url = `sqlite:${join(folder, "ledger.db")}`;
  const told: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    // The batch that was under way is left alone: its claims are still held by the dead.
    const from = (told.at(-1) ?? -2) + 2;
    told.push(...(await runAndKill(url, from, 7 + kill)));
    const ledger = await openLedger(url, { clock: systemClock, turn, random });
    for (const key of told.flatMap(killKeys)) {
      expect((await ledger.show(KILL_SCOPE, key))?.record.kind).toBe("committed");
    }
    // The batch under way may be there or not; what is there has state and log in step.
    for (const key of killKeys((told.at(-1) ?? 0) + 1)) {
      const view = await ledger.show(KILL_SCOPE, key);
      const outcome = view?.entries.some(({ status }) => status === "succeeded") ?? false;
      expect(view?.record.kind === "committed").toBe(outcome);
    }
    expect(await ledger.check()).toEqual([]);
    await ledger.close();
  }
});
