import { expect, test } from "vitest";
import { COMMANDS } from "./run-cli.ts";
import { whatToTry } from "./what-to-try.ts";

const started = {
  endpoint: "http://127.0.0.1:4566",
  names: { bucket: "files", topic: "t", queue: "q", deadLetterQueue: "d" },
  queueName: "q",
  metricsOrigin: "http://127.0.0.1:1",
};
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
  expect(whatToTry(started, at).join("\n")).toContain("aws s3 cp FILE s3://files/in/");
  const names = { ...started.names, bucket: null, topic: null };
  const lines = whatToTry({ ...started, names }, { ...at, folder: undefined }).join("\n");
  expect(lines).toContain("aws sqs send-message --queue-url http://127.0.0.1:4566/000000000000/q");
  expect(lines).not.toContain("s3");
  expect(lines).not.toContain("watched folder");
});
