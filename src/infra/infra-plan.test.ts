import { describe, expect, test } from "vitest";
import { type PipelineFacts, planInfra } from "./infra-plan.ts";

const FACTS: PipelineFacts = {
  name: "orders",
  bucket: "acme-orders",
  prefix: "in/",
  queue: null,
  visibilityMs: 60_000,
  maxReceiveCount: { standard: 25, fifo: 1_000 },
};
const MESSAGES = { ...FACTS, bucket: null, prefix: "" };

test("a bucket pipeline gets a topic, a queue and a dead-letter queue, named as in dev", () => {
  expect(planInfra(FACTS)).toEqual({
    pipeline: "orders",
    stem: "orders",
    fifo: false,
    bucket: { name: "acme-orders", prefix: "in/" },
    topic: "orders-objects",
    queue: "orders-events",
    queueAccount: null,
    deadLetterQueue: "orders-dead-letters",
    lateQueue: null,
    visibilitySeconds: 60,
    maxReceiveCount: 25,
    ledger: "dynamodb",
    ledgerTable: "orders-ledger",
    listing: false,
    outboxTable: null,
    claimCheckBucket: null,
    archive: null,
    kms: false,
    alarms: true,
    compute: "none",
    dispatch: false,
    backfill: false,
    outputs: [],
  });
});

test("a FIFO queue makes topic and dead-letter queue FIFO, and keeps halted messages", () => {
  const url = "https://sqs.eu-west-1.amazonaws.com/111122223333/bookings.fifo";
  const plan = planInfra({ ...MESSAGES, queue: url }, { via: "topic" });
  expect(plan).toMatchObject({
    fifo: true,
    queue: "bookings.fifo",
    queueAccount: "111122223333",
    topic: "orders-messages.fifo",
    deadLetterQueue: "orders-dead-letters.fifo",
    maxReceiveCount: 1_000,
    outboxTable: "orders-outbox",
  });
});

test("a Lambda function gets a visibility timeout of six times its timeout", () => {
  expect(planInfra(FACTS, { compute: "lambda" }).visibilitySeconds).toBe(720);
  const long = { ...FACTS, visibilityMs: 3_600_000 };
  expect(planInfra(long, { compute: "lambda" }).visibilitySeconds).toBe(3_600);
});

test("PostgreSQL needs no table", () => {
  const plan = planInfra({ ...MESSAGES, queue: "q" }, { ledger: "postgres" });
  expect([plan.ledgerTable, plan.outboxTable]).toEqual([null, null]);
});

describe("what AWS would refuse is one clause with the fix", () => {
  const reason = (facts: Partial<PipelineFacts>, options = {}) => {
    try {
      planInfra({ ...FACTS, ...facts }, options);
      return "accepted";
    } catch (error) {
      return [(error as { code: string }).code, (error as Error).message];
    }
  };

  test("a FIFO queue for a bucket", () => {
    expect(reason({ queue: "orders.fifo" })).toEqual([
      "TG_CONFIG_INVALID",
      "source.queue is orders.fifo, but S3 cannot notify a FIFO queue or topic; use a standard queue",
    ]);
  });

  test("names that are too long", () => {
    const name = "n".repeat(60);
    expect(reason({ name })).toEqual([
      "TG_CONFIG_INVALID",
      ["consumer", "producer", "operator"]
        .map(
          (role) =>
            `the role "${name}-${role}" has 69 characters, and AWS allows 64; ` +
            "choose a shorter or simpler prefix",
        )
        .join("; "),
    ]);
    expect(reason({ name }, { prefix: "short" })).toBe("accepted");
    expect(reason({ queue: "q".repeat(81) })[1]).toBe(
      `the queue "${"q".repeat(81)}" has 81 characters, and AWS allows 80; rename it`,
    );
  });

  test("a name of another alphabet", () => {
    expect(reason({ bucket: "Orders_2" })[1]).toBe(
      'the bucket "Orders_2" is not a name that AWS accepts: 3 to 63 lower-case letters, digits, ' +
        "hyphens and dots; rename it",
    );
    expect(reason({ queue: "my queue" })[1]).toContain('the queue "my queue" is not a name');
  });

  test("a prefix that IAM would read as a pattern", () => {
    expect(reason({ prefix: "in/*/" })[1]).toBe(
      'source.prefix is "in/*/", but IAM reads *, ? and $ as patterns; choose another',
    );
  });

  test("objects of any bucket", () => {
    expect(reason({ bucket: null, prefix: "", queue: "q", contents: "objects" })[1]).toBe(
      "the pipeline reads objects of any bucket; name one in source.bucket",
    );
  });

  test("a backfill without a bucket", () => {
    expect(reason({ bucket: null, prefix: "", queue: "q" }, { backfill: true })[1]).toBe(
      "--backfill lists the objects of a bucket; this pipeline reads messages",
    );
  });

  test("outputs that no policy can name, or that the pipeline would ingest", () => {
    const outputs = (...urls: string[]) => reason({}, { outputs: urls })[1];
    expect(outputs("acme-out")).toBe('--outputs has "acme-out"; write s3://bucket/prefix');
    expect(outputs("s3://acme-out/a*")).toContain("but IAM reads *, ? and $ as patterns");
    expect(outputs("s3://A/")).toContain('the bucket "A" is not a name that AWS accepts');
    const readAgain = ["s3://acme-orders", "s3://acme-orders/in", "s3://acme-orders/in/reports/"];
    for (const url of readAgain) {
      expect(outputs(url)).toBe(
        `--outputs has "${url}", which the pipeline reads; choose another prefix or bucket`,
      );
    }
    const good = ["s3://acme-orders/out/", "s3://acme-out"];
    expect(planInfra(FACTS, { outputs: good }).outputs).toEqual(["acme-orders/out", "acme-out"]);
  });

  test("claim checks for a bucket", () => {
    expect(reason({}, { claimChecks: "claims" })[1]).toContain(
      "--claim-checks is for pipelines of",
    );
  });
});
