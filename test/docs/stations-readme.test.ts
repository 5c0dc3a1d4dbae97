// The README of the stations example: the test runs every command in it, line by line.

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import stations from "../../examples/stations/pipeline.ts";
import { type RunningDev, startDev } from "../../src/api/run.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { createInbox, type Inbox } from "../../src/run/dev/inbox.ts";
import { requirePart } from "../support/requires.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "examples/stations/README.md"), "utf8");
const commands = requirePart("aws-cli");

const folder = mkdtempSync(join(tmpdir(), "tidegate-readme-"));
const data = join(folder, ".tidegate");
let dev: RunningDev;
let inbox: Inbox;

beforeAll(async () => {
  dev = await startDev(stations, { data, port: 0 }, { onLogLine: () => {} });
  inbox = createInbox(
    { clock: systemClock },
    {
      folder: join(data, "inbox"),
      put: (name, path) => dev.putFile(`observations/${name}`, path),
      onFailure: (name, error) => console.error(name, error),
    },
  );
});
afterAll(async () => {
  await inbox.close();
  await dev.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** The commands of all shell blocks. */
function linesOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.trim().split("\n"));
}

/** Starts a session: this test's endpoint, the command from source, and the local AWS CLI. */
function prelude(lines: readonly string[]): string {
  const main = join(root, "src/cli/main.ts");
  const read =
    "new (require('node:sqlite').DatabaseSync)(process.argv[1]).prepare(process.argv[2])";
  return [
    ...lines.map((line) => line.replace("http://127.0.0.1:4566", dev.endpoint)),
    "unalias -a",
    `tidegate() { '${process.execPath}' '${main}' "$@"; }`,
    `aws() { command '${commands["aws-cli"]}' --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }`,
    `sqlite3() { '${process.execPath}' -p "JSON.stringify(${read}.all())" "$@"; }`,
  ].join("\n");
}

test("every command in the README of the stations example works", async () => {
  const lines = linesOf(page.slice(page.indexOf("## What to try")));
  const begins = lines.filter((line) => /^(export|alias) /.test(line));
  const typed = lines.filter((line) => !begins.includes(line));
  const answers = new Map<string, string>();
  for (const line of typed) {
    const script = `set -euo pipefail\n${prelude(begins)}\n${line}`;
    const { stdout } = await promisify(execFile)("bash", ["-c", script], { cwd: folder });
    answers.set(line, stdout);
    for (let look = 0; look < 2; look += 1) await inbox.scan();
    await dev.idle();
  }
  const answer = (start: string) =>
    [...answers].find(([line]) => line.startsWith(start))?.[1] ?? `no line ${start}`;
  expect(typed).toHaveLength(13);
  expect(answer("tidegate why s3://stations/observations/kie")).toContain("observation × 1");
  expect(answer("tidegate why s3://stations/observations/warm")).toMatch(/outcome .*schema/);
  // kie.csv was uploaded twice, copied once and deleted; warm.csv failed and was then corrected.
  expect(dev.snapshot()).toMatchObject({ committed: 5, deadLettered: 1 });
  expect(answer("tidegate watermark")).toContain("stations: complete up to");
  expect(answer("tidegate dlq list")).toContain("warm.csv");
  expect(await dev.deadLetterDepth()).toBe(0);
});
