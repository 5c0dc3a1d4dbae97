// The tutorial: the test runs every command of the page in an empty folder, from top to bottom, and
// compares the output with the page.
//   T1. Commands run as written, except that the port is a free one, and that cloning and
//       installing use this repository instead of the network.
//   T2. In expected output, `…` matches anything within a line, and alone in a line any lines. All
//       other text must match exactly, in this order.
//   T3. A command that only reads is repeated until its output matches, within a time limit. A
//       command that changes something runs once and must succeed immediately.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { durationMs } from "../../src/core/units.ts";
import { systemClock } from "../../src/platform/system-clock.ts";
import { needsFullSize } from "../support/full-size.ts";
import { patienceMs } from "../support/patience.ts";
import { requirePart } from "../support/requires.ts";
import { type ShellSession, startShell } from "../support/shell-session.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/start/tutorial.md"), "utf8");
const commands = requirePart("aws-cli");

const PAGE_PORT = "4566";
const LOOKS_ONLY = /^(head|grep|sqlite3|tidegate why|tidegate dlq (list|show)) /;
/** Longer than the visibility timeout of a killed consumer's messages. */
const LOOK_FOR_MS = patienceMs(150_000);
const LOOK_AGAIN_MS = durationMs(250);

let folder = "";
let shell: ShellSession;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-tutorial-"));
});
afterEach(async () => {
  await shell?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Step {
  readonly typed: string;
  /** The expected output; null if the page shows none. */
  readonly shown: string | null;
}

/** The commands of a page, each with its expected output. */
function stepsOf(text: string): Step[] {
  const steps: Step[] = [];
  for (const [, language, block = ""] of text.matchAll(/^```(\w*)\n(.*?)^```$/gms)) {
    const last = steps.at(-1);
    if (language === "sh") steps.push({ typed: block.trimEnd(), shown: null });
    else if (language === "text" && last?.shown === null) {
      steps[steps.length - 1] = { ...last, shown: block.trim() };
    } else
      throw new Error(`the page has a block that is neither a command nor its output:\n${block}`);
  }
  return steps;
}

/** The expected output as a pattern for the whole output (T2). */
function patternOf(shown: string): RegExp {
  const lines = shown.split("\n").map((line) => {
    if (line.trim() === "…") return "(?:.*\n)*?";
    const words = line
      .trimEnd()
      .split("…")
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return `${words.join(".*")}[ ]*\n`;
  });
  return new RegExp(`^${lines.join("")}$`);
}

function open(port: string): ShellSession {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(AWS|TIDEGATE)_/.test(name));
  const read = `const [file, sql] = process.argv.slice(1);
    const query = new (require("node:sqlite").DatabaseSync)(file, { readOnly: true }).prepare(sql);
    for (const row of query.all()) console.log(Object.values(row).map((value, at) =>
      /amount/.test(query.columns()[at].name) ? value.toFixed(1) : value).join("|"));`;
  const version = `'${process.execPath}' tidegate/src/cli/main.ts --version`;
  return startShell({
    folder,
    env: { ...Object.fromEntries(inherited), TIDEGATE_PORT: port, AWS_CONFIG_FILE: "/dev/null" },
    prelude: [
      // T1
      `git() { [ "$*" = "clone REPOSITORY tidegate" ] && ln -s '${root}' tidegate; }`,
      `npm() { [ "$*" = '--prefix tidegate run -s tidegate -- --version' ] && ${version}; }`,
      `aws() { command '${commands["aws-cli"]}' "$@"; }`,
      `sqlite3() { '${process.execPath}' -e '${read}' "$@"; }`,
    ],
  });
}

async function follow({ typed, shown }: Step): Promise<void> {
  const looks = typed.split("\n").every((line) => LOOKS_ONLY.test(`${line} `));
  const pattern = shown === null ? null : patternOf(shown);
  const until = systemClock.now() + LOOK_FOR_MS;
  let answer = await shell.run(typed);
  while (looks && pattern !== null && !pattern.test(`${answer.output}\n`)) {
    if (systemClock.now() > until) break;
    await systemClock.sleep(LOOK_AGAIN_MS);
    answer = await shell.run(typed); // T3
  }
  if (pattern !== null) expect(`${answer.output}\n`, typed).toMatch(pattern);
  // diff exits with 1 if files differ, which is what the page shows.
  const failed = answer.failed.filter((command) => !command.startsWith("1 diff "));
  expect(failed, `${typed}\n${answer.output}`).toEqual([]);
}

test(
  "every command of the tutorial prints what the page shows",
  async (context) => {
    needsFullSize(context);
    const port = String(await freePort());
    const steps = stepsOf(page.replaceAll(`:${PAGE_PORT}`, `:${port}`));
    expect(steps.filter(({ shown }) => shown !== null).length).toBeGreaterThan(15);
    shell = open(port);
    for (const step of steps) await follow(step);
  },
  patienceMs(400_000),
);

test("the test detects output that differs from the page", () => {
  const pattern = patternOf("a …\n  b\n…\nz");
  expect("a 1\n  b\nx\ny\nz\n").toMatch(pattern);
  expect("a 1\n  b\nz\n").toMatch(pattern);
  for (const other of ["a 1\nb\nz\n", "a\n  b\nz\n", "a 1\n  b\nz\nmore\n", "a 1\n  c\nz\n"]) {
    expect(other).not.toMatch(pattern);
  }
});
