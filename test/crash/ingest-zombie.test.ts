// Zombies: a consumer is stopped by SIGSTOP past its lease, another consumer does its work, and
// then the first one continues. Most of the time is spent waiting for leases to end, so tests run
// in parallel, each on its own stream. Tests in which the other must keep its lease run alone.
// TIDEGATE_KILL_WAYS=all runs every case, as CI does.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { IngestWorld, readLedger, type Stream } from "../support/crash/ingest-world.ts";
import { sampleOf } from "../support/full-size.ts";
import { openNotebook } from "./ingest-notebook-sink.ts";
import type { IngestPoint } from "./ingest-points.ts";
import type { WorkerConfig } from "./ingest-worker.ts";

const world = new IngestWorld();
beforeAll(() => world.up());
afterAll(() => world[Symbol.asyncDispose]());

type Lease = WorkerConfig["lease"];

/** A stream with one message, whose consumer is frozen at a point. */
async function freeze(title: string, point: IngestPoint, config: Partial<WorkerConfig>) {
  const stream = await world.createStream(title, false);
  await world.send(stream, 1);
  const plan = { point, signal: "SIGSTOP" } as const;
  const zombie = world.worker(stream, { ...config, owner: "zombie", plan });
  await zombie.waitForLine(new RegExp(`^at ${point}$`));
  return { stream, zombie };
}

/** Only the successor's rows exist, from one commit. */
function checkTable(stream: Stream): void {
  const { readings, commits, records } = readLedger(stream);
  expect(readings.map(({ owner }) => owner)).toEqual([
    "successor",
    "successor",
    "successor",
    "successor",
  ]);
  expect(records).toMatchObject([{ state: "committed" }]);
  expect(commits).toMatchObject([{ owner: "successor", fence: records[0]?.fence }]);
}

const POINTS = ["in-handler", "handled", "committing"] as const;
const HOSTS: readonly (readonly [WorkerConfig["host"], Lease])[] = [
  ["run", "receipt"],
  ["run", "ledger"],
  ["lambda", "receipt"],
  ["lambda", "ledger"],
  ["task", "ledger"],
];
const ALL = process.env.TIDEGATE_KILL_WAYS === "all";
const TABLE_CASES = sampleOf(
  4,
  HOSTS.flatMap(([host, lease]) => POINTS.map((point) => ({ host, lease, point }))),
  ALL,
);
const FUNCTION_CASES = [
  ["ledger", "applying", 1],
  ["auto", "in-handler", 0],
  ["ledger", "handled", 0],
] as const;

describe("a consumer stopped past its lease commits nothing", () => {
  test.concurrent.each(TABLE_CASES)(
    "if another has committed: $host, $lease, $point",
    async ({ host, lease, point }) => {
      const title = `done-${host}-${lease}-${point}`;
      const { stream, zombie } = await freeze(title, point, { lease, host });
      const successor = world.worker(stream, { lease, host, owner: "successor" });
      await successor.waitForLine(/^outcome committed$/);
      await world.empty(stream.name);
      zombie.signal("SIGCONT");
      await zombie.waitForLine(/^outcome (lost|duplicate)$/);
      expect(zombie.lines).not.toContain("commit committed");
      expect(await zombie.end("SIGTERM")).toBe(0);
      expect(await successor.end("SIGTERM")).toBe(0);
      checkTable(stream);
    },
  );

  test.each(["receipt", "ledger"] as const)("while another runs the handler: %s", async (lease) => {
    const { stream, zombie } = await freeze(`busy-${lease}`, "committing", { lease });
    const successor = world.worker(stream, { lease, owner: "successor", holds: true });
    await successor.waitForLine(/^holding 1$/);
    zombie.signal("SIGCONT");
    // The ledger rejects it, by its fence or because another holds the claim.
    await zombie.waitForLine(lease === "ledger" ? /^commit fenced$/ : /^commit busy$/);
    await zombie.waitForLine(/^outcome/);
    successor.writeLine("release all");
    await successor.waitForLine(/^outcome committed$/);
    await world.empty(stream.name);
    expect(await zombie.end("SIGTERM")).toBe(0);
    expect(await successor.end("SIGTERM")).toBe(0);
    checkTable(stream);
  });

  test.concurrent.each(sampleOf(3, FUNCTION_CASES, ALL))(
    "with a function sink: %s, %s",
    async (lease, point, calls) => {
      const config = { lease, sink: "function" } as const;
      const { stream, zombie } = await freeze(`function-${lease}-${point}`, point, config);
      const successor = world.worker(stream, { ...config, owner: "successor" });
      await successor.waitForLine(/^outcome committed$/);
      await world.empty(stream.name);
      zombie.signal("SIGCONT");
      await zombie.waitForLine(/^outcome lost$/);
      expect(await zombie.end("SIGTERM")).toBe(0);
      expect(await successor.end("SIGTERM")).toBe(0);
      const { records } = readLedger(stream, "function");
      expect(records).toMatchObject([{ state: "committed" }]);
      using db = openNotebook(`${stream.folder}/sink.db`);
      const recorded = db.prepare("SELECT owner, fence, applied FROM calls ORDER BY rowid").all();
      const late = recorded.filter(({ owner }) => owner === "zombie");
      // After its last lease check it may still call the sink, but the older fence changes nothing.
      expect(late.map(({ applied }) => applied)).toEqual(Array.from({ length: calls }, () => 0));
      for (const { fence } of late) expect(Number(fence)).toBeLessThan(records[0]?.fence ?? 0);
      const [note] = db.prepare("SELECT fence, rows FROM notes").all();
      expect(note?.fence).toBe(records[0]?.fence);
      expect(String(note?.rows)).not.toContain("zombie");
    },
  );
});
