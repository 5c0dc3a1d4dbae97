import { expect, test } from "vitest";
import { createRowReader } from "../../readers/row-reader.ts";
import { COMMANDS } from "../run-cli.ts";
import { whatToTry } from "./what-to-try.ts";

const started = {
  endpoint: "http://127.0.0.1:4566",
  names: { bucket: "files", topic: "t", queue: "q", deadLetterQueue: "d" },
  queueName: "q",
  metricsOrigin: "http://127.0.0.1:1",
};
/** As versions before 2.13 need it, which Debian still has. */
const AWS = "aws --endpoint-url $AWS_ENDPOINT_URL";
const at = { data: "d", folder: "inbox", prefix: "in/" };

test("every command that is named is there, and looks at the data folder in use", () => {
  const lines = whatToTry(started, at).filter((line) => /tidegate (-- )?\w/.test(line));
  const names = COMMANDS.map(({ name }) => name);
  expect(lines.length).toBeGreaterThan(2);
  for (const line of lines) {
    const [, words = ""] = /tidegate (?:-- )?(.+)$/.exec(line) ?? [];
    expect([words, names.some((name) => words.startsWith(`${name} `))]).toEqual([words, true]);
    expect(words).toContain("--data d");
  }
});

test("files are shown where there is a bucket, messages where there is none", () => {
  expect(whatToTry(started, at).join("\n")).toContain(`${AWS} s3 cp FILE s3://files/in/`);
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names }, { ...at, folder: undefined }).join("\n");
  expect(lines).toContain(
    `${AWS} sqs send-message --queue-url http://127.0.0.1:4566/000000000000/q`,
  );
  expect(lines).not.toContain("s3");
  expect(lines).not.toContain("watched folder");
});

test("the broken file is one that no reader takes", async () => {
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
  const rows = createRowReader().read(source, options)[Symbol.asyncIterator]();
  await expect(rows.next()).rejects.toMatchObject({ code: "TG_OBJECT_UNREADABLE" });
});
