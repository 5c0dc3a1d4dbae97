// Sends a fixed list of events through a SQLite outbox to a server, and dies by SIGKILL at the
// given occurrence of a named point. Prints each event that was reported as sent.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createSqsQueue } from "../../src/aws/sqs/sqs-queue.ts";
import type { Objects } from "../../src/ports/objects/objects.ts";
import { perEntity } from "../../src/produce/group-strategy.ts";
import { createProducer } from "../../src/produce/producer.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { random, systemClock, turn } from "../support/stores/real-ports.ts";

export const KILL_EVENTS = 12;
const GROUPS = 3;

export const killEvents = () =>
  Array.from({ length: KILL_EVENTS }, (_, n) => ({
    source: "kfm.remote-sensing.landsat",
    dedupeKey: `scene-${n}`,
    eventTime: "2026-11-15T08:00:00Z",
    // Every fourth is too large for the queue and uses a claim check.
    payload: { n, group: n % GROUPS, scene: "x".repeat(n % 4 === 0 ? 4_000 : 4) },
  }));

/** Buckets as folders, so that objects survive the process. */
export const folderObjects = (root: string): Objects => ({
  async put(bucket, key, bytes) {
    const file = join(root, bucket, key);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
  },
  get: async (bucket, key) => readFileSync(join(root, bucket, key)),
});

if (import.meta.main) {
  const [, , path = "", endpoint = "", queueUrl = "", point = "", occurrence = "1"] = process.argv;
  const credentials = { accessKeyId: "any", secretAccessKey: "any" };
  const client = new SQSClient({ endpoint, region: "us-east-1", credentials });
  const outbox = createSqliteOutbox({ clock: systemClock }, { path });
  let remaining = Number(occurrence);
  const producer = createProducer(
    {
      target: createSqsQueue({ client, queueUrl, messageBytesMax: 2_000 }),
      objects: folderObjects(`${path}.objects`),
      outbox,
      clock: systemClock,
      random,
      turn,
    },
    {
      claimCheck: { bucket: "payloads" },
      owner: "the producer of this test",
      groups: perEntity(({ payload }) => `group-${payload.group}`),
      onPoint(reached) {
        if (reached !== point) return;
        remaining -= 1;
        if (remaining === 0) process.kill(process.pid, "SIGKILL");
      },
    },
  );
  await Promise.all(
    killEvents().map(async (event) => {
      const { kind } = await producer.send(event);
      process.stdout.write(`${event.dedupeKey} ${kind}\n`);
    }),
  );
  await producer.close();
  await outbox.close();
  client.destroy();
}
