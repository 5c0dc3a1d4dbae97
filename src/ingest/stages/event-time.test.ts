import { expect, test } from "vitest";
import { createConsumerWorld } from "../../../test/support/consumer-world.ts";
import { callS3 } from "../../../test/support/s3-call.ts";
import { readReports } from "../running/partition-report.ts";
import { EVENT_TIME_MS_MAX, partitionName } from "./event-time.ts";

const SCOPE = { pipeline: "test", generation: 0 };

type Options = NonNullable<Parameters<typeof createConsumerWorld>[0]>;

/** Runs one object through a pipeline, and returns what became of it. */
async function runOne(more: object, options: Options = {}, key = "in/2030-01-02.csv") {
  const times: (string | null)[] = [];
  const world = await createConsumerWorld({
    bucket: "data",
    handler: (_event, { watermark }) => void times.push(String(watermark)),
    pipeline: more,
    ...options,
  });
  const consumer = world.consumer();
  await consumer.start();
  await world.put(key, "a");
  await world.pass(EVENT_TIME_MS_MAX + 60_000);
  const [report] = await readReports(world.ledger, SCOPE);
  const dossiers = await world.ledger.listNotes(SCOPE, "dossier", { after: null, limit: 10 });
  const counts = consumer.snapshot();
  await world[Symbol.asyncDispose]();
  return { partitions: [...(report?.partitions ?? [])], dossiers, counts, logs: world.logs };
}

const PAST = "2025-03-04T05:06:07Z";

test.each<[string, object]>([
  ["a function of the key", { eventTime: { of: () => PAST } }],
  ["a promise", { eventTime: { of: async () => PAST } }],
  ["a Date", { eventTime: { of: () => new Date(PAST) } }],
  ["milliseconds", { eventTime: { of: () => Date.parse(PAST) } }],
])("the event time may be %s", async (_, more) => {
  const { partitions, counts } = await runOne(more);
  expect(counts.committed).toBe(1);
  expect(partitions).toEqual([
    ["data/in/", { latest: Date.parse(PAST), activeUntil: expect.any(Number) }],
  ]);
});

test.each<[string, () => unknown, string]>([
  ["NaN", () => Number.NaN, "neither RFC 3339 text, whole milliseconds nor a valid Date"],
  ["a text without a zone", () => "2025-03-04T05:06:07", "a text that"],
  ["an invalid Date", () => new Date("?"), "nor a valid Date"],
  ["an object", () => ({}), "nor a valid Date"],
])("%s is dead-lettered as a wrong event time (T2)", async (_, of, reason) => {
  const { dossiers, counts } = await runOne({ eventTime: { of } });
  expect(counts).toMatchObject({ committed: 0, deadLettered: 1 });
  expect(dossiers[0]?.body).toContain('"error_class":"event-time"');
  expect(dossiers[0]?.body).toContain(reason);
});

test.each([null, undefined])("%s means the default (T2)", async (value) => {
  const { partitions, counts } = await runOne({ eventTime: { of: () => value } });
  expect([counts.committed, partitions.length]).toEqual([1, 1]);
});

test("an event time of 1970 or 2286 is processed and does not move the watermark (M4)", async () => {
  for (const of of [() => 0, () => "2286-11-20T17:46:40Z"]) {
    const { partitions, counts } = await runOne({ eventTime: { of } });
    expect([counts.committed, partitions]).toEqual([1, []]);
  }
});

test("a function that throws is retried, then dead-lettered, and nothing is lost (T1)", async () => {
  const of = () => {
    throw new Error("no date in the name");
  };
  const retry = { attempts: 2, baseMs: 1_000 };
  const { dossiers, counts } = await runOne({ eventTime: { of }, retry });
  expect(counts).toMatchObject({ retried: 1, deadLettered: 1 });
  expect(dossiers[0]?.body).toContain("no date in the name");
});

test("a promise that never resolves fails the attempt at its limit (T1)", async () => {
  const of = () => new Promise(() => undefined);
  const { dossiers, counts } = await runOne({ eventTime: { of }, retry: { attempts: 1 } });
  expect(counts.deadLettered).toBe(1);
  expect(dossiers[0]?.body).toContain(`eventTime.of took longer than ${EVENT_TIME_MS_MAX} ms`);
});

test("a partition that fails falls back to the default, and the record is processed (T5)", async () => {
  for (const partition of [
    () => {
      throw new Error("no part");
    },
    () => ({}),
    async () => "x",
  ]) {
    const { partitions, counts, logs } = await runOne({ eventTime: { partition } });
    expect([counts.committed, partitions[0]?.[0]]).toEqual([1, "data/in/"]);
    expect(logs.map(({ message }) => message)).toContain(
      "partition failed; the default partition counts",
    );
  }
});

test("a masked key never becomes the name of a partition (T5)", async () => {
  const { partitions } = await runOne({
    mask: ["object.key"],
    eventTime: { partition: secretPart },
  });
  expect(partitions[0]?.[0]).toMatch(/^masked [0-9a-f]{32}$/);
});
const secretPart = ({ object }: { object: { key: string } }) => object.key;

test("metadata and tags are read once, and only if a function asks (T3)", async () => {
  let opens = 0;
  const wrapObjects: NonNullable<Options["wrapObjects"]> = (objects) => ({
    open(pin, signal) {
      opens += 1;
      return objects.open(pin, signal);
    },
  });
  await using world = await createConsumerWorld({
    bucket: "data",
    wrapObjects,
    pipeline: {
      eventTime: {
        of: async (facts: {
          metadata(): Promise<Record<string, string>>;
          tags(): Promise<Record<string, string>>;
        }) => `${(await facts.metadata()).day}T00:00:00${(await facts.tags()).zone}`,
      },
    } as never,
  });
  await world.consumer().start();
  const headers = { "x-amz-meta-day": "2025-03-04", "x-amz-tagging": "zone=Z" };
  await callS3(world.cloud.http, "PUT", "data/in/a.csv", "a", headers);
  await world.pass(5_000);
  const [report] = await readReports(world.ledger, SCOPE);
  expect(report?.partitions.get("data/in/")?.latest).toBe(Date.UTC(2025, 2, 4));
  expect(opens).toBe(1);
});

test("a partition name fits into a note, whatever it contains", () => {
  expect(partitionName("a")).toBe("a");
  for (const name of ["", "x".repeat(97), "\u0001".repeat(40)]) {
    expect(partitionName(name)).toMatch(/^[0-9a-f]{32}$/);
  }
});
