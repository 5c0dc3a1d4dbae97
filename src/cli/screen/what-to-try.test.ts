import { expect, test } from "vitest";
import { z } from "zod";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { validateEnvelope } from "../../core/events/envelope.ts";
import { epochMs } from "../../core/units.ts";
import { pipeline } from "../../index.ts";
import { decodeOwn } from "../../ingest/stages/decode-own.ts";
import { systemPorts } from "../../platform/index.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { allCommands } from "../command-table.ts";
import { whatToTry } from "./what-to-try.ts";

const COMMANDS = await allCommands();

const started = {
  endpoint: "http://127.0.0.1:4566",
  names: { bucket: "files", topic: "t", queue: "q", deadLetterQueue: "d", lateQueue: null },
  queueName: "q",
  metricsOrigin: "http://127.0.0.1:1",
};
/** AWS CLI versions before 2.13 need the flag. */
const AWS = "aws --endpoint-url $AWS_ENDPOINT_URL";
const now = epochMs(1_700_000_000_000);
const at = {
  data: "d",
  folder: "inbox",
  prefix: "in/",
  sample: "samples/monday.csv",
  region: "us-east-1",
  own: null,
  pipeline: "p",
  now,
};

test("every printed command exists and uses the data folder of the running process", () => {
  const lines = whatToTry(started, at).filter((line) => /tidegate (-- )?\w/.test(line));
  const names = COMMANDS.map(({ name }) => name);
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    const [, words = ""] = /tidegate (?:-- )?(.+)$/.exec(line) ?? [];
    expect([words, names.some((name) => words.startsWith(`${name} `))]).toEqual([words, true]);
    expect(words).toContain("--data d");
  }
});

test("a pipeline with a bucket gets file commands, one without gets message commands", () => {
  const printed = whatToTry(started, at).join("\n");
  expect(printed).toContain(`${AWS} s3 cp samples/monday.csv s3://files/in/`);
  expect(printed).toContain("cp samples/monday.csv inbox/");
  expect(printed).not.toContain("FILE");
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names }, { ...at, folder: undefined }).join("\n");
  expect(lines).toContain(
    `${AWS} sqs send-message --queue-url http://127.0.0.1:4566/000000000000/q`,
  );
  expect(lines).not.toContain("s3");
  expect(lines).not.toContain("watched folder");
});

test("without a sample file, the reader names one in a variable that the commands use", () => {
  const lines = whatToTry(started, { ...at, sample: null }).join("\n");
  expect(lines).toMatch(/^ {2}FILE=\S+ /m);
  expect(lines).toContain(`${AWS} s3 cp "$FILE" s3://files/in/`);
});

test("the commands use the region of the running cloud", () => {
  expect(whatToTry(started, { ...at, region: "eu-west-1" }).join("\n")).toContain(
    "AWS_REGION=eu-west-1",
  );
});

test("every reader rejects the broken file", async () => {
  const [, body = ""] = /printf '(.*)' \|/.exec(whatToTry(started, at).join("\n")) ?? [];
  const bytes = Buffer.from(body.replaceAll("\\n", "\n"));
  const source = {
    size: bytes.length,
    async *stream() {
      yield bytes;
    },
    range: async (start: number, end: number) => bytes.subarray(start, end),
  };
  const { signal } = new AbortController();
  const options = { format: "auto", name: "broken.csv", signal } as const;
  const rows = createRowReader(systemPorts).read(source, options)[Symbol.asyncIterator]();
  await expect(rows.next()).rejects.toMatchObject({ code: "TG_OBJECT_UNREADABLE" });
});

test.each(["q", "q.fifo"])("messages for the queue %s work as pasted", (queueName) => {
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names, queueName }, at);
  const sends = lines.filter((line) => line.includes("send-message"));
  const [valid, broken] = sends.map((line) => {
    const [, body = ""] = /--message-body '([^']*)'$/.exec(line) ?? [];
    const parsed = parseStrictJson(body);
    return parsed.kind === "value" ? validateEnvelope(parsed.value).kind : "not JSON";
  });
  expect([valid, broken]).toEqual(["valid", "invalid"]);
  for (const line of sends) {
    expect(/--message-group-id \S+ --message-deduplication-id \S+/.test(line)).toBe(
      queueName.endsWith(".fifo"),
    );
  }
});

const Job = z.object({
  FileID: z.string(),
  Entity: z.enum(["try", "accounts"]),
  BatchID: z.number(),
  at: z.iso.datetime(),
  nested: z.object({ deep: z.boolean() }),
});
const handler = () => {};
const own = [
  pipeline({
    name: "p",
    source: { queue: "q", key: (body: { FileID: string }) => body.FileID },
    handler,
  }),
  pipeline({ name: "p", source: { queue: "q", schema: Job, key: (job) => job.FileID }, handler }),
  pipeline({
    name: "p",
    source: {
      queue: "q",
      schema: Job,
      key: ({ FileID, BatchID }) => `${FileID.trim().toLowerCase()}@${BatchID}`,
      eventTime: ({ at: time }) => time,
    },
    handler,
  }),
  pipeline({ name: "p", source: { queue: "q", schema: Job, key: "MessageId" }, handler }),
];

test.each(own)("an own message that is suggested passes its key and schema", async ({ source }) => {
  if (source.own === null) throw new Error("it is not an own source");
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names }, { ...at, own: source.own });
  const [valid = "", broken = ""] = lines.flatMap((line) => {
    return /--message-body '([^']*)'$/.exec(line)?.[1] ?? [];
  });
  const delivery = { ...DELIVERY, body: valid };
  const decoded = decodeOwn("p", source.own, delivery);
  expect(decoded).toMatchObject({ kind: "own" });
  const result = await source.own.schema?.["~standard"].validate(JSON.parse(valid));
  expect(result?.issues).toBeUndefined();
  expect(decodeOwn("p", source.own, { ...delivery, body: broken }).kind).toBe("unusable");
  const why = lines.find((line) => /tidegate (-- )?why /.test(line));
  const named = source.own.key === "MessageId" ? undefined : `why ${decoded.key} --data d`;
  expect(why?.replace(/^.*tidegate (-- )?/, "")).toBe(named);
});

test("without a sample that the pipeline accepts, the message comes from a file", () => {
  const { source } = pipeline({
    name: "p",
    source: { queue: "q", decode: "text", key: (text) => text },
    handler,
  });
  const names = { ...started.names, bucket: null, topic: null };
  const sends = (sample: string | null) => {
    const lines = whatToTry({ ...started, names }, { ...at, own: source.own, sample });
    expect(lines.some((line) => line.startsWith("  FILE="))).toBe(sample === null);
    return lines.filter((line) => line.includes("send-message"));
  };
  expect(sends(null)).toEqual([expect.stringMatching(/--message-body "file:\/\/\$FILE"$/)]);
  expect(sends("samples/a")).toEqual([
    expect.stringMatching(/--message-body file:\/\/samples\/a$/),
  ]);
});

const DELIVERY = {
  messageId: "m",
  receipt: "r",
  attributes: {},
  traceHeader: null,
  groupId: null,
  sentAt: now,
  receiveCount: 1,
  movedFrom: null,
};
