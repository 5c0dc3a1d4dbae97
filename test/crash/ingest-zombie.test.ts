// Zombies: a consumer is stopped by SIGSTOP past its lease, another does its work, and it goes on.
// Most of it is waiting for leases to end, so tests run side by side, each on a stream of its own;
// but those in which the other has to keep its lease meanwhile run alone.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openNotebook } from "./ingest-notebook-sink.ts";
import type { IngestPoint } from "./ingest-points.ts";
import { IngestWorld, readLedger, type Stream } from "./ingest-site.ts";
import type { WorkerConfig } from "./ingest-worker.ts";

const site = new IngestWorld();
beforeAll(() => site.up());
afterAll(() => site[Symbol.asyncDispose]());

type Lease = WorkerConfig["lease"];

/** A stream with one message, which a consumer has frozen over at a point. */
async function freeze(title: string, point: IngestPoint, config: Partial<WorkerConfig>) {
  const stream = await site.createStream(title, false);
  await site.send(stream, 1);
  const plan = { point, signal: "SIGSTOP" } as const;
  const zombie = site.worker(stream, { ...config, owner: "zombie", plan });
  await zombie.told(new RegExp(`^at ${point}$`));
  return { stream, zombie };
}

/** Only the heir's rows are there, of the one commit. */
function checkTable(stream: Stream): void {
  const { readings, commits, records } = readLedger(stream);
  expect(readings.map(({ owner }) => owner)).toEqual(["heir", "heir", "heir", "heir"]);
  expect(records).toMatchObject([{ state: "committed" }]);
  expect(commits).toMatchObject([{ owner: "heir", fence: records[0]?.fence }]);
}

const TABLE_CASES = (["receipt", "ledger"] as const).flatMap((lease: Lease) =>
  (["in-handler", "handled", "committing"] as const).map((point) => ({ lease, point })),
);

describe("a consumer stopped past its lease commits nothing", () => {
  test.concurrent.each(TABLE_CASES)(
    "when another has committed: $lease, $point",
    async ({ lease, point }) => {
      const { stream, zombie } = await freeze(`done-${lease}-${point}`, point, { lease });
      const heir = site.worker(stream, { lease, owner: "heir" });
      await heir.told(/^outcome committed$/);
      await site.empty(stream.name);
      zombie.signal("SIGCONT");
      await zombie.told(/^outcome (lost|duplicate)$/);
      expect(zombie.lines).not.toContain("sealed committed");
      expect(await zombie.end("SIGTERM")).toBe(0);
      expect(await heir.end("SIGTERM")).toBe(0);
      checkTable(stream);
    },
  );

  test.each(["receipt", "ledger"] as const)("while another is at work: %s", async (lease) => {
    const { stream, zombie } = await freeze(`busy-${lease}`, "committing", { lease });
    const heir = site.worker(stream, { lease, owner: "heir", holds: true });
    await heir.told(/^holding 1$/);
    zombie.signal("SIGCONT");
    // The ledger refuses it, by its fence or because another holds the claim.
    await zombie.told(lease === "ledger" ? /^sealed fenced$/ : /^sealed busy$/);
    await zombie.told(/^outcome/);
    heir.say("release all");
    await heir.told(/^outcome committed$/);
    await site.empty(stream.name);
    expect(await zombie.end("SIGTERM")).toBe(0);
    expect(await heir.end("SIGTERM")).toBe(0);
    checkTable(stream);
  });

  test.concurrent.each([
    ["auto", "in-handler", 0],
    ["ledger", "handled", 0],
    ["ledger", "applying", 1],
  ] as const)("with a sink of its own: %s, %s", async (lease, point, calls) => {
    const config = { lease, sink: "function" } as const;
    const { stream, zombie } = await freeze(`function-${lease}-${point}`, point, config);
    const heir = site.worker(stream, { ...config, owner: "heir" });
    await heir.told(/^outcome committed$/);
    await site.empty(stream.name);
    zombie.signal("SIGCONT");
    await zombie.told(/^outcome lost$/);
    expect(await zombie.end("SIGTERM")).toBe(0);
    expect(await heir.end("SIGTERM")).toBe(0);
    const { records } = readLedger(stream, "function");
    expect(records).toMatchObject([{ state: "committed" }]);
    using db = openNotebook(`${stream.folder}/sink.db`);
    const noted = db.prepare("SELECT owner, fence, taken FROM calls ORDER BY rowid").all();
    const late = noted.filter(({ owner }) => owner === "zombie");
    // Past the last look at its lease it may still call; it comes with the older fence, in vain.
    expect(late.map(({ taken }) => taken)).toEqual(Array.from({ length: calls }, () => 0));
    for (const { fence } of late) expect(Number(fence)).toBeLessThan(records[0]?.fence ?? 0);
    const [note] = db.prepare("SELECT fence, rows FROM notes").all();
    expect(note?.fence).toBe(records[0]?.fence);
    expect(String(note?.rows)).not.toContain("zombie");
  });
});
