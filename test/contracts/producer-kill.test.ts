// Kills a producer at every named point, runs it again, and checks the queue.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startCloud, type VirtualCloud } from "../../src/cloud/start-cloud.ts";
import type { MessageEnvelope } from "../../src/core/events/envelope.ts";
import { withPayload } from "../../src/produce/claim-check.ts";
import type { SendPoint } from "../../src/produce/outbox-sender.ts";
import { isFullSize } from "../support/full-size.ts";
import { peekAll } from "../support/producer-world.ts";
import { folderObjects, KILL_EVENTS, killEvents } from "./producer-kill-worker.ts";

const WORKER = new URL("./producer-kill-worker.ts", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "tidegate-producer-kill-"));
let cloud: VirtualCloud;
beforeAll(async () => {
  // Virtual time stands still, so a slow computer does not exceed the deduplication window.
  cloud = await startCloud({ data: join(folder, "cloud"), clock: "virtual" });
});
afterAll(async () => {
  await cloud.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(queue: string, point: string, occurrence: number) {
  const queueUrl = `${cloud.endpoint}/000000000000/${queue}`;
  const words = [join(folder, `${queue}.db`), cloud.endpoint, queueUrl, point, String(occurrence)];
  const child = spawn(process.execPath, [WORKER, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close");
  let output = "";
  for await (const chunk of child.stdout) output += chunk;
  const [code, signal] = await ended;
  return { code, signal, lines: output.split("\n").filter((line) => line !== "") };
}

const POINTS = {
  "before-put": 2,
  put: 2,
  "before-register": 1,
  registered: 1,
  "before-send": 2,
  answered: 2,
  marked: 2,
} satisfies Record<SendPoint, number>;
const CASES = Object.entries(POINTS).flatMap(([point, times]) =>
  Array.from({ length: isFullSize ? times : 1 }, (_, n) => [point, n + 1] as const),
);

describe("a producer killed by SIGKILL and run again", () => {
  test.each(CASES)("at %s (%i): every event is in the queue once", async (point, occurrence) => {
    const queue = `${point}-${occurrence}.fifo`;
    const attributes = { FifoQueue: "true" };
    await cloud.broker.submit("createQueue", { name: queue, attributes, tags: {} });
    expect((await run(queue, point, occurrence)).signal).toBe("SIGKILL");
    // Dies a second time during recovery, one step later, then survives.
    await run(queue, point, occurrence + 1);
    const last = await run(queue, "none", 1);
    expect(last).toMatchObject({ code: 0, signal: null });
    expect(last.lines).toHaveLength(KILL_EVENTS);
    const messages = await peekAll(cloud, queue);
    const wanted = killEvents().map(({ dedupeKey }) => dedupeKey);
    const keys = messages.map(({ body }) => String(body.dedupe_key));
    expect(keys.toSorted()).toEqual(wanted.toSorted());
    const objects = folderObjects(join(folder, `${queue}.db.objects`));
    const payloads = new Map<string, unknown>();
    for (const { body } of messages) {
      const envelope = await withPayload(body as unknown as MessageEnvelope, objects);
      payloads.set(envelope.dedupe_key, envelope.payload);
    }
    for (const { dedupeKey, payload } of killEvents()) {
      expect(payloads.get(dedupeKey)).toEqual(payload);
    }
    for (const group of ["group-0", "group-1", "group-2"]) {
      const numbers = messages
        .filter(({ groupId }) => groupId === group)
        .map(({ body }) => Number(String(body.dedupe_key).split("-")[1]));
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
    const again = await run(queue, "none", 1);
    expect(again.lines.every((line) => line.endsWith("already-sent"))).toBe(true);
  });
});
