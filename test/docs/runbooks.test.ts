// Runbooks: every command that a page shows in a block runs against one world that has a committed
// record, a failed one, a dead letter, a late record and a backup.
//   R1. The names of a page (orders, s3://inbox/…, pipeline.ts, backups/…) are those of the world,
//       except for keys and fingerprints, which the test fills in.
//   R2. Only commands of `tidegate` are run; those for AWS and for the shell are not.
//   R3. The cause of the failures is repaired before the commands run, as the pages ask for; for
//       the record that waits for its backoff, right before `tidegate retry`. A backoff may be
//       short, and a record that was tried again by itself would be committed by then.
//   R4. A page says what you see, what it means, what to do, and how to know it is over.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RunningDev, startDev } from "../../src/api/run.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import { loadPipeline } from "../../src/run/open/load-pipeline.ts";
import { eventually } from "../support/eventually.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const folder = useTemporaryFolder("runbooks");
const data = join(folder, "data");
const file = join(folder, "pipeline.ts");
/** A backoff is anything from zero to this: one that ends during the test is unlikely. */
const WAITS_MS = 36_000_000;

const SOURCE = `import { pipeline, PermanentError } from "tidegate";
export default pipeline({
  name: "orders",
  source: { bucket: "inbox" },
  eventTime: {
    of: ({ object }) =>
      (/\\d{4}-\\d{2}-\\d{2}/.exec(object.key)?.[0] ?? "2026-03-03") + "T00:00:00Z",
    outOfOrderMs: 1_000,
    late: "hold",
  },
  retry: { attempts: 50, baseMs: ${WAITS_MS}, capMs: ${WAITS_MS} },
  handler({ object }) {
    if (object.key.endsWith("/b.csv") && !globalThis.retried) throw new Error("not yet");
    if (globalThis.repaired) return;
    if (object.key.endsWith("/a.csv") && object.key.startsWith("2026/")) throw new PermanentError("bad");
  },
});
`;

/** In an order in which each page finds what it is about. */
const PAGES = [
  "audit-findings",
  "duplicate-spike",
  "halted-group",
  "late-data-lane",
  "cost-spike",
  "ledger-or-sink-down",
  "restore-from-backup",
  "consumer-lag",
  "dead-letter-redrive",
] as const;

const pageOf = (name: string) => readFileSync(join(root, "docs/runbooks", `${name}.md`), "utf8");

/** The lines of blocks that run tidegate (R2). */
function commandsOf(page: string): string[] {
  return [...page.matchAll(/^ {4,}(tidegate .+)$/gm)].map(([, line = ""]) => line.trim());
}

let dev: RunningDev;
let fingerprint = "";
let deadKey = "";

async function cli(words: readonly string[]) {
  const lines: string[] = [];
  const out = {
    terminal: false,
    line: (text: string) => void lines.push(text),
    note: (text: string) => void lines.push(text),
  };
  return { code: await runCli(words, out), text: lines.join("\n") };
}

beforeAll(async () => {
  writeFileSync(file, SOURCE);
  dev = await startDev(
    await loadPipeline(file),
    { data, port: 0, metricsPort: 0 },
    {
      onLogLine: () => {},
    },
  );
  await dev.put("2026-03-03/c.csv", "c");
  await eventually(() => expect(dev.snapshot().watermark).not.toBeNull());
  await dev.put("2026/a.csv", "a");
  await dev.put("2026/b.csv", "b");
  await dev.put("2026-03-01/a.csv", "late");
  const reached = { deadLettered: 1, retried: 1, held: 1 };
  await eventually(() => expect(dev.snapshot()).toMatchObject(reached));
  const { text } = await cli(["dlq", "list", "--pipeline", "orders", "--data", data, "--json"]);
  const letter = JSON.parse(text.split("\n")[0] ?? "{}") as Record<string, string>;
  fingerprint = letter.fingerprint ?? "";
  deadKey = letter.record_key ?? letter.key ?? "";
  mkdirSync(join(folder, "backups"));
  await cli(["backup", join(folder, "backups/monday"), "--data", data]);
  Object.assign(globalThis, { repaired: true });
});
afterAll(async () => {
  Object.assign(globalThis, { repaired: undefined, retried: undefined });
  await dev?.stop();
});

/** The words of a command, with the names of the world (R1). */
function wordsOf(command: string): string[] {
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare);
  const named = words.slice(1).map((word = "") =>
    word
      .replace(/^62f1724f$/, fingerprint)
      .replace(/^k1:4d0c$/, deadKey)
      .replace(/^pipeline\.ts$/, file)
      .replace(/^backups\//, `${folder}/backups/`),
  );
  const isRestore = named[0] === "restore";
  const own = isRestore ? join(folder, `restored-${Math.random()}`) : data;
  const hasData = named[0] !== "doctor";
  if (named[0] === "doctor") named.push("--endpoint", dev.endpoint, "--region", "us-east-1");
  return hasData ? [...named, "--data", own] : named;
}

describe.each(PAGES)("the runbook %s", (name) => {
  const page = pageOf(name);

  test("says what you see, what it means, what to do, and how to know it is over", () => {
    expect(page).toMatch(/\*\*What you see\.\*\*/);
    expect(page).toMatch(/\*\*What it means\.\*\*/);
    expect(page).toMatch(/^## What to do$/m);
    expect(page).toMatch(/^## How to know it is over$/m);
  });

  test("shows commands that work", async () => {
    const commands = commandsOf(page);
    expect(commands.length).toBeGreaterThan(0);
    for (const command of commands) {
      if (command.startsWith("tidegate retry ")) Object.assign(globalThis, { retried: true }); // R3
      const { code, text } = await cli(wordsOf(command));
      // The world has a dead letter, so an audit says that not all is applied.
      const expected = command.startsWith("tidegate audit ") ? 4 : 0;
      expect(`${command}: ${code}\n${code === expected ? "" : text}`).toBe(
        `${command}: ${expected}\n`,
      );
    }
  });
});
