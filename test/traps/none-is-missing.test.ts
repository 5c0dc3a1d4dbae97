// None is missing: every trap that loses data or applies it twice has a running test. A trap's
// tests are in files named by its number, and their titles contain it.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";

const TRAPS = [
  "a volatile body defeats content-based deduplication",
  "the row is written, the message never sent",
  "a claim without an end",
  "failed means never again",
  "the message is deleted when its work begins",
  "a clean exit that counts nothing",
  "a read that may be old decides",
  "a republication that is swallowed",
  "looking first and acting later",
  "duplicates end among the dead letters",
  "the key is read from an attribute",
  "helpers drop what is beyond the tenth",
  "a group handled side by side",
  "a state that comes back is skipped",
  "one object has several keys",
  "an ETag is taken for a digest",
  "kind and pipeline are not in the key",
  "a replay meets its own past",
  "a row keyed by its content",
  "a watermark the wrong way round",
  "lanes that depend on the order of arrival",
  "success is written twice",
  "an append-only log with one place per key",
  "dead letter, log and acknowledgement in the wrong order",
  "the object is read, not its version",
  "waiting while holding the message",
  "receives are taken for attempts",
  "missing looks like forbidden",
  "a dedupe key that others share",
  "an envelope that lacks half of itself",
  "retries that reorder a group",
  "memory that ends before the message does",
] as const;

const root = join(import.meta.dirname, "../..");
/** Titles of the tests that vitest collects, by file. */
const titles = new Map<string, string[]>();

beforeAll(async () => {
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "list", "test/traps/t", "--json"];
  const options = { cwd: root, maxBuffer: 16_777_216 };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  for (const { name, file } of JSON.parse(stdout) as { name: string; file: string }[]) {
    titles.set(file, [...(titles.get(file) ?? []), name]);
  }
});

test.each(TRAPS.map((title, at) => ({ number: at + 1, title })))(
  "T$number, $title, has tests that are collected and none that is left out",
  ({ number }) => {
    const start = `t${String(number).padStart(2, "0")}-`;
    const files = [...titles.keys()].filter((file) => basename(file).startsWith(start));
    expect(files).not.toEqual([]);
    for (const file of files) {
      const text = readFileSync(file, "utf8");
      expect(titles.get(file), file).not.toEqual([]);
      expect(text, file).toMatch(new RegExp(`["\`]T${number}: `));
      expect(text, file).not.toMatch(/\.(skip|skipIf|runIf|only|todo|fails)\b/);
    }
  },
);
