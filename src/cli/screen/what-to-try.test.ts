import { expect, test } from "vitest";
import { parseStrictJson } from "../../core/encoding/strict-json.ts";
import { validateEnvelope } from "../../core/events/envelope.ts";
import { epochMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import { createRowReader } from "../../readers/row-reader.ts";
import { COMMANDS } from "../run-cli.ts";
import { whatToTry } from "./what-to-try.ts";

const started = {
  endpoint: "http://127.0.0.1:4566",
  names: { bucket: "files", topic: "t", queue: "q", deadLetterQueue: "d" },
  queueName: "q",
  metricsOrigin: "http://127.0.0.1:1",
};
/** AWS CLI versions before 2.13 need the flag. */
const AWS = "aws --endpoint-url $AWS_ENDPOINT_URL";
const at = { data: "d", folder: "inbox", prefix: "in/", now: epochMs(1_700_000_000_000) };

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
  expect(whatToTry(started, at).join("\n")).toContain(`${AWS} s3 cp FILE s3://files/in/`);
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names }, { ...at, folder: undefined }).join("\n");
  expect(lines).toContain(
    `${AWS} sqs send-message --queue-url http://127.0.0.1:4566/000000000000/q`,
  );
  expect(lines).not.toContain("s3");
  expect(lines).not.toContain("watched folder");
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
