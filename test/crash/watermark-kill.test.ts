// Kills processes that share a watermark through one ledger, at a random moment of a sync. The
// watermark never goes back, and a dead process does not hold it back for longer than an idle one.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { minutes } from "../../src/core/units.ts";
import { IDLE_MS } from "../../src/ingest/policy/watermark.ts";
import { readReports } from "../../src/ingest/running/partition-report.ts";
import { usePostgres } from "../support/stores/database-servers.ts";
import { systemClock } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { openSharedLedger, WATERMARK_SCOPE } from "./watermark-worker.ts";

const WORKER = new URL("./watermark-worker.ts", import.meta.url).pathname;
const { available, freshUrl } = await usePostgres();
const folder = useTemporaryFolder("watermark-kill");
const ROUNDS = 3;
const KILL_MS_MAX = 6;
const STEP_MS = 1_000;

class Worker implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor(owner: string, where: string, at: number) {
    this.#child = spawn(process.execPath, [WORKER, owner, where, String(at)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child.stdin.on("error", () => undefined); // It was killed.
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  say(...commands: string[]): void {
    for (const command of commands) this.#child.stdin.write(`${command}\n`);
  }

  /** The watermark that it prints next. */
  async watermark(): Promise<number> {
    return Number((await this.#lines.next()).value);
  }

  async sync(): Promise<number> {
    this.say("sync");
    return this.watermark();
  }

  async kill(): Promise<void> {
    if (this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }

  [Symbol.asyncDispose] = () => this.kill();
}

async function killAgainAndAgain(where: string): Promise<void> {
  const ledger = await openSharedLedger(where);
  let now: number = systemClock.now();
  const stored: number[] = [];
  const look = async () => {
    const note = await ledger.findNote(WATERMARK_SCOPE, "watermark", "shared");
    stored.push(note?.at ?? 0);
    return stored.at(-1) ?? 0;
  };
  await using living = new Worker("living", where, now);
  await living.watermark();
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await look();
    now += minutes(10);
    living.say(`pass ${minutes(10)}`);
    await using victim = new Worker(`victim-${round}`, where, now);
    expect(await victim.watermark()).toSatisfy((at) => Number.isNaN(at) || at >= before);
    const slow = now - minutes(3);
    victim.say(`observe slow-${round} ${slow}`);
    await victim.sync();
    living.say(`observe quick ${now}`, "poll");
    expect(await living.sync()).toBe(slow); // The live process holds it back.
    await look();
    victim.say(`observe slow-${round} ${slow + STEP_MS}`, "sync");
    await sleep(Math.random() * KILL_MS_MAX); // Anywhere in the sync: which point is not the point.
    await victim.kill();
    living.say(`observe quick ${now + 1}`);
    expect([slow, slow + STEP_MS]).toContain(await living.sync());
    await look();
    now += IDLE_MS + minutes(1);
    living.say(`pass ${IDLE_MS + minutes(1)}`, "poll", `observe quick ${now}`);
    expect(await living.sync()).toBe(now); // The dead one does not.
    expect(await look()).toBe(now);
    expect((await readReports(ledger, WATERMARK_SCOPE)).map(({ owner }) => owner)).toEqual([
      "living",
    ]);
  }
  expect(stored).toEqual(stored.toSorted((a, b) => a - b));
  await ledger.close();
}

describe("a watermark whose processes are killed never goes back, and is not held back for good", () => {
  test("on SQLite", () => killAgainAndAgain(`sqlite:${join(folder, "ledger.db")}`));

  test.skipIf(!available)("on PostgreSQL", async () => killAgainAndAgain(await freshUrl()));
});
