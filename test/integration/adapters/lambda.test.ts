// Lambda: a function on an embedded cloud in virtual time, called by the event source mapping of
// the testkit or directly.

import { Logger } from "@aws-lambda-powertools/logger";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { LambdaContext, LambdaHandler } from "../../../src/adapters/lambda/lambda-handler.ts";
import { type LambdaSettings, lambdaHandler } from "../../../src/adapters/lambda/open-lambda.ts";
import { createCloudQueue, startCloud } from "../../../src/api/cloud.ts";
import { buildEnvelope } from "../../../src/core/events/envelope.ts";
import { durationMs, seconds } from "../../../src/core/units.ts";
import { pipeline } from "../../../src/ingest/spec/define-pipeline.ts";
import { PermanentError } from "../../../src/ingest/spec/handler-errors.ts";
import type { HandlerContext, MessageInput } from "../../../src/ingest/spec/pipeline-spec.ts";
import { openOperator } from "../../../src/operate/open-operator.ts";
import type { SinkFunction } from "../../../src/ports/sink.ts";
import { devSetup } from "../../../src/run/dev/dev-setup.ts";
import type { MappingOptions } from "../../../src/testkit/lambda/event-source-mapping.ts";
import { sqsEvent } from "../../../src/testkit/lambda/sqs-event.ts";
import { startEventSourceMapping } from "../../../src/testkit/lambda/start-event-source-mapping.ts";
import { sendTestMessage } from "../../../src/testkit/test-message.ts";
import { patienceMs } from "../../support/patience.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("lambda");
let files = 0;
const freshLedger = () => `sqlite:${folder}/ledger-${++files}.db`;

type Payload = { readonly n: number; readonly how?: "poison" | "flaky" | "hangs" | "fails" };
type Handle = (payload: Payload, context: HandlerContext) => Promise<void> | void;

/** Applies each number once per commit, as a sink of a user would. */
function createNumbers() {
  const applied = new Map<string, readonly unknown[]>();
  const handled: number[] = [];
  const sink: SinkFunction = (effects, { key }) => void applied.set(key, effects);
  return { handled, sink, numbers: () => [...applied.values()].flat() };
}

const BEHAVE: Handle = ({ how }, { attempt, signal }) => {
  if (how === "poison") throw new PermanentError("poison");
  if (how === "flaky" && attempt === 1) throw new Error("the first attempt fails");
  if (how === "fails") throw new Error("fails always");
  if (how !== "hangs") return;
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
};

function numbersPipeline(queue: string, numbers: ReturnType<typeof createNumbers>) {
  return pipeline({
    name: "numbers",
    source: { queue },
    retry: { attempts: 3, baseMs: 10, capMs: 20 },
    onPoison: "skip",
    sink: numbers.sink,
    async handler(event: MessageInput<unknown>, context: HandlerContext) {
      const payload = event.payload as Payload;
      numbers.handled.push(payload.n);
      await BEHAVE(payload, context);
      context.emit(payload.n);
    },
  } as never);
}

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  vi.unstubAllEnvs();
});

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

async function open(
  queueName = "numbers",
  options: MappingOptions = {},
  settings: Partial<LambdaSettings> = {},
) {
  const numbers = createNumbers();
  const spec = numbersPipeline(queueName, numbers);
  const cloud = await startCloud({ memory: true, clock: "virtual", setup: devSetup(spec) });
  cleanUps.push(() => cloud.close());
  const { endpoint } = cloud;
  const ledger = freshLedger();
  const handler = lambdaHandler(spec, { endpoint, ledger, logger: QUIET, ...settings });
  cleanUps.push(() => handler.close());
  const queue = createCloudQueue(cloud, { queue: queueName });
  const suffix = queue.fifo ? ".fifo" : "";
  const deadLetters = createCloudQueue(cloud, { queue: `numbers-dead-letters${suffix}` });
  const send = (payload: Payload, group = "g") =>
    sendTestMessage(queue, { payload, group, dedupeKey: String(payload.n) }, cloud.clock.now());
  const map = async (called: LambdaHandler = handler) => {
    const to = { queue: queueName, ...options };
    const mapping = await startEventSourceMapping(cloud, called as never, to);
    cleanUps.push(() => mapping.stop());
    return mapping;
  };
  return { cloud, spec, ledger, handler, queue, deadLetters, send, map, ...numbers };
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

describe("on a standard queue", () => {
  test("messages that fail are returned alone, and the others are committed once", async () => {
    const world = await open();
    for (const n of upTo(8)) await world.send({ n, ...(n === 3 && { how: "flaky" }) });
    await world.send({ n: 9, how: "poison" });
    const mapping = await world.map();
    await mapping.idle();
    expect(world.numbers().toSorted()).toEqual(upTo(8));
    expect(world.handled.filter((n) => n !== 3).toSorted()).toEqual([1, 2, 4, 5, 6, 7, 8, 9]);
    expect(world.handled.filter((n) => n === 3)).toHaveLength(2);
    expect(mapping.invocations.flatMap(({ failedIds }) => failedIds)).toHaveLength(1);
    expect((await world.deadLetters.facts()).visible).toBe(1);
  });

  test("while the pipeline is paused, all messages are returned and none is handled", async () => {
    const world = await open();
    const { spec, ledger, cloud } = world;
    await world.handler.open(); // Creates the ledger.
    await using operator = openOperator({ pipeline: spec, ledger });
    for (const n of upTo(3)) await world.send({ n });
    await operator.control.pause();
    const request = { max: 10, waitMs: durationMs(0), visibilityMs: seconds(30) };
    const batch = await world.queue.receive(request, new AbortController().signal);
    const arn = "arn:aws:sqs:us-east-1:000000000000:numbers";
    const answer = await world.handler(sqsEvent(batch, arn), context());
    const ids = answer?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
    expect(ids).toEqual(batch.map(({ messageId }) => messageId));
    expect(ids).toHaveLength(3);
    expect(world.handled).toEqual([]);
    await operator.control.resume();
    const other = lambdaHandler(spec, { endpoint: cloud.endpoint, ledger, logger: QUIET });
    cleanUps.push(() => other.close());
    await (await world.map(other)).idle();
    expect(world.numbers().toSorted()).toEqual(upTo(3));
  });

  test("a batch larger than a receive is gathered in its window", async () => {
    const world = await open("numbers", { batchSize: 25, windowMs: 5_000, concurrency: 1 });
    for (const n of upTo(23)) await world.send({ n });
    const mapping = await world.map();
    await mapping.idle();
    expect(mapping.invocations.map(({ messageIds }) => messageIds.length)).toEqual([23]);
    expect(world.numbers().toSorted()).toEqual(upTo(23).toSorted());
  });

  test("a message that always fails is dead-lettered after its attempts, not by receives", async () => {
    const world = await open();
    await world.send({ n: 1, how: "fails" });
    await (await world.map()).idle();
    expect(world.handled).toEqual([1, 1, 1]);
    expect((await world.deadLetters.facts()).visible).toBe(1);
  });

  test("an attempt ends before the invocation does, and counts", async () => {
    const [timeoutMs, settleMs] = [patienceMs(1_500), patienceMs(1_000)];
    const world = await open("numbers", { timeoutMs }, { settleMs });
    await world.send({ n: 1, how: "hangs" });
    await world.send({ n: 2 });
    const mapping = await world.map();
    await mapping.idle();
    expect(world.handled.filter((n) => n === 1)).toHaveLength(3);
    expect(world.numbers()).toEqual([2]);
    expect(mapping.invocations.map(({ error }) => error)).toEqual(
      mapping.invocations.map(() => null),
    );
    expect((await world.deadLetters.facts()).visible).toBe(1);
  });

  test("without ReportBatchItemFailures, partialFailures: throw loses nothing", async () => {
    const world = await open(
      "numbers",
      { reportBatchItemFailures: false },
      { partialFailures: "throw" },
    );
    for (const n of upTo(5)) await world.send({ n, ...(n === 2 && { how: "flaky" }) });
    const mapping = await world.map();
    await mapping.idle();
    expect(world.numbers().toSorted()).toEqual(upTo(5));
    expect(world.handled).toHaveLength(6);
    expect(mapping.invocations[0]?.error).toMatchObject({ code: "TG_BATCH_INCOMPLETE" });
  });
});

describe("on a FIFO queue", () => {
  test("a batch stops at its first failure, and its groups keep their order", async () => {
    const world = await open("numbers.fifo", { concurrency: 1 });
    for (const n of upTo(6)) {
      await world.send({ n, ...(n === 3 && { how: "flaky" }) }, n % 2 === 0 ? "even" : "odd");
    }
    const mapping = await world.map();
    await mapping.idle();
    const [first] = mapping.invocations;
    const { messageIds = [], failedIds } = first ?? {};
    const at = messageIds.length - (failedIds?.length ?? 0);
    expect(failedIds).toEqual(messageIds.slice(at)); // It and all that follow, in order.
    expect(failedIds?.length).toBeGreaterThan(0);
    const applied = world.numbers() as number[];
    expect(applied.filter((n) => n % 2 === 1)).toEqual([1, 3, 5]);
    expect(applied.filter((n) => n % 2 === 0)).toEqual([2, 4, 6]);
  });

  test("a poison message is dead-lettered and its group continues", async () => {
    const world = await open("numbers.fifo");
    for (const n of upTo(4)) await world.send({ n, ...(n === 2 && { how: "poison" }) });
    await (await world.map()).idle();
    expect(world.numbers()).toEqual([1, 3, 4]);
    expect((await world.deadLetters.facts()).visible).toBe(1);
  });
});

const context = (ms = 10_000): LambdaContext => ({
  awsRequestId: "request-1",
  functionName: "numbers",
  getRemainingTimeInMillis: () => ms,
});

describe("an invocation fails as a whole only if nothing was done", () => {
  test("an event of an unknown source", async () => {
    const { handler } = await open();
    await expect(handler({ key1: "value1" }, context())).rejects.toThrow(
      'the event has no Records, but ["key1"]; connect the function to an SQS queue, an S3 ' +
        "bucket or an SNS topic",
    );
  });

  test("an event without records is answered", async () => {
    const { handler } = await open();
    expect(await handler({ Records: [] }, context())).toEqual({ batchItemFailures: [] });
  });

  test("a ledger that cannot be opened is opened by the next invocation", async () => {
    const world = await open();
    await world.send({ n: 1 });
    let calls = 0;
    const { handler } = world;
    const flaky = Object.assign(
      async (event: unknown, at: LambdaContext) => {
        calls += 1;
        if (calls === 1) throw new Error("ENOTFOUND");
        return handler(event, at);
      },
      { open: handler.open, close: handler.close },
    );
    const mapping = await world.map(flaky);
    await mapping.idle();
    expect(mapping.invocations[0]?.failedIds).toHaveLength(1);
    expect(world.numbers()).toEqual([1]);
  });
});

describe("S3 and SNS call the function directly", () => {
  const settings = { deadLetterQueue: "numbers-dead-letters" };
  const sns = (payload: Payload) => {
    const eventTime = "2026-11-15T08:00:00Z";
    const event = { source: "test.direct.sns", dedupeKey: String(payload.n), eventTime, payload };
    const built = buildEnvelope(event);
    if (built.kind === "invalid") throw new Error("the envelope is invalid");
    const Sns = {
      Type: "Notification",
      TopicArn: "arn:aws:sns:us-east-1:000000000000:numbers",
      Timestamp: "2026-11-15T08:00:00.000Z",
      Message: built.value.body,
      MessageId: `m-${payload.n}`,
    };
    return { Records: [{ EventSource: "aws:sns", Sns }] };
  };

  test("an event that is repeated is a duplicate", async () => {
    const { handler, handled, numbers } = await open("numbers", {}, settings);
    expect(await handler(sns({ n: 1 }), context())).toBeUndefined();
    expect(await handler(sns({ n: 1 }), context())).toBeUndefined();
    expect([handled, numbers()]).toEqual([[1], [1]]);
  });

  test("what fails is tried again within the invocation", async () => {
    const { handler, handled, numbers } = await open("numbers", {}, settings);
    await handler(sns({ n: 1, how: "flaky" }), context());
    expect([handled, numbers()]).toEqual([[1, 1], [1]]);
  });

  test("poison is dead-lettered, and the invocation succeeds", async () => {
    const { handler, deadLetters } = await open("numbers", {}, settings);
    await handler(sns({ n: 1, how: "poison" }), context());
    expect((await deadLetters.facts()).visible).toBe(1);
  });

  test("what is not done at the end fails the invocation, so that Lambda repeats it", async () => {
    const { handler } = await open("numbers", {}, { ...settings, settleMs: 500 });
    await expect(handler(sns({ n: 1, how: "hangs" }), context(900))).rejects.toMatchObject({
      code: "TG_BATCH_INCOMPLETE",
      message: "1 of 1 messages of the event were not processed",
    });
  });

  test("without a dead-letter queue, a direct event is refused in one sentence", async () => {
    const { handler } = await open();
    await expect(handler(sns({ n: 1 }), context())).rejects.toThrow(
      "events that S3 or SNS send directly have no queue to stay in; set deadLetterQueue",
    );
  });

  test("an object of S3 is read as its version", async () => {
    const texts: string[] = [];
    const objects = pipeline({
      name: "files",
      source: { bucket: "files" },
      sink: () => {},
      async handler(event, { emit }) {
        texts.push(await event.text());
        emit(1);
      },
    });
    const setup = devSetup(objects);
    await using cloud = await startCloud({ memory: true, clock: "virtual", setup });
    const reply = await fetch(`${cloud.endpoint}/files/a%20b.txt`, { method: "PUT", body: "hi" });
    const versionId = reply.headers.get("x-amz-version-id") ?? "";
    const eTag = (reply.headers.get("etag") ?? "").replaceAll('"', "");
    const object = { key: "a+b.txt", size: 2, eTag, versionId, sequencer: "01" };
    const record = {
      eventVersion: "2.1",
      eventSource: "aws:s3",
      awsRegion: "us-east-1",
      eventTime: "2026-11-15T08:00:00.000Z",
      eventName: "ObjectCreated:Put",
      s3: { bucket: { name: "files", arn: "arn:aws:s3:::files" }, object },
    };
    const at = { endpoint: cloud.endpoint, ledger: freshLedger(), logger: QUIET };
    const handler = lambdaHandler(objects, { ...at, deadLetterQueue: "files-dead-letters" });
    await handler({ Records: [record] }, context());
    await handler.close();
    expect(texts).toEqual(["hi"]);
  });
});

describe("settings that cannot work are rejected when the module is loaded", () => {
  const spec = numbersPipeline("numbers", createNumbers());

  test.each([
    [{}, "lambdaHandler() needs a ledger"],
    [{ ledger: "mysql://x" }, 'unknown ledger URL scheme "mysql:"'],
    [{ ledger: "dynamodb://table", settleMs: -1 }, "settleMs is -1"],
  ])("%j", (settings, message) => {
    expect(() => lambdaHandler(spec, settings as LambdaSettings)).toThrow(message);
  });

  test("a value that pipeline() did not return", () => {
    expect(() => lambdaHandler({} as never, { ledger: "memory:" })).toThrow(
      "lambdaHandler() needs the value that pipeline() returned",
    );
  });

  test("a ledger on the function's own disk, in Lambda", () => {
    vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "numbers");
    expect(() => lambdaHandler(spec, { ledger: "sqlite:/tmp/ledger.db" })).toThrow(
      "a sqlite ledger is lost with the execution environment, and duplicates would be",
    );
  });
});

test("log lines go through a logger of Powertools, with the ids of their record", async () => {
  const lines: Record<string, unknown>[] = [];
  const keep = (line: string) => void lines.push(JSON.parse(line));
  vi.spyOn(console, "info").mockImplementation(keep);
  vi.spyOn(console, "warn").mockImplementation(keep);
  vi.stubEnv("POWERTOOLS_DEV", "true"); // The logger then writes through the console.
  const logger = new Logger({ serviceName: "numbers" });
  const world = await open("numbers", {}, { logger });
  await world.send({ n: 1, how: "flaky" });
  await (await world.map()).idle();
  expect(lines.map(({ level }) => level)).toEqual(["WARN", "INFO"]);
  expect(lines[0]).toMatchObject({
    service: "numbers",
    pipeline: "numbers",
    message: expect.stringContaining("attempt 1 failed: the first attempt fails"),
    idempotency_key: expect.stringMatching(/./),
  });
});
