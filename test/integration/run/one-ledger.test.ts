// One ledger: every command that works on a ledger, in one environment with contradicting sources.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { allCommands } from "../../../src/cli/command-table.ts";
import { runCli } from "../../../src/cli/run-cli.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const folder = useTemporaryFolder("one-ledger");
const file = join(folder, "pipeline.ts");
const jobs = join(folder, "jobs.jsonl");

/** The sources, the strongest first. Nothing can be created in their folders. */
const PLACES = { flag: "/proc/flag", variable: "/proc/variable", data: "/proc/data" } as const;
type Source = keyof typeof PLACES;
const SOURCES = Object.keys(PLACES) as Source[];

beforeAll(() => {
  writeFileSync(
    file,
    `import { pipeline } from "tidegate";
export default pipeline({
  name: "place",
  source: { bucket: "place", queue: "place-events" },
  handler() {},
});\n`,
  );
  writeFileSync(jobs, '{"key":"a","body":1}\n');
});
afterEach(() => vi.unstubAllEnvs());

const batch = ["--queue", "place-events", "--pipeline", file, "--batch", "b"];
const past = ["--from", "2020-01-01", "--to", "2020-01-02"];

/** The words that each command needs, without those for its ledger. */
const CALLS: Readonly<Record<string, readonly string[]>> = {
  audit: [file],
  backfill: [file],
  why: ["x"],
  "runs list": [],
  "runs manifest": ["x"],
  lineage: ["x"],
  "records list": [],
  "records duplicates": [],
  "dlq list": [],
  "dlq show": ["x"],
  "dlq redrive": [],
  "dlq drop": ["--yes"],
  "quarantine list": [],
  "quarantine redrive": [],
  "quarantine drop": ["--yes"],
  "late list": [],
  "late release": ["--all"],
  watermark: [],
  "pipeline pause": [],
  "pipeline resume": [],
  "pipeline status": [],
  retry: ["x"],
  replay: [file, ...past, "--into", "live"],
  "replay list": [],
  "replay show": ["x"],
  "replay diff": ["x"],
  "replay promote": ["x"],
  "replay drop": ["x"],
  "replay cancel": ["x"],
  "jobs register": [jobs, ...batch],
  "jobs list": ["--queue", "place-events", "--pipeline", file],
  "jobs show": batch,
  "jobs retry": batch,
  sweep: ["--queue", "place-events", "--pipeline", file],
  "ledger check": [],
  "ledger migrate": [],
  "ledger show": ["--pipeline", "place", "--key", "x"],
  "ledger stats": [],
};

/** Commands with --ledger that are not here, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  "ledger init": "takes the flag only, for it creates what it names",
  "ledger purge": "takes the flag only, for it deletes",
  run: "waits for its queue first; one-server.test.ts, and prepare-run.test.ts for its settings",
  task: "opens as run",
  dispatch: "opens as run",
  relay: "finds its queue first; opens the outbox of that ledger, as jobs list",
  console: "serves a page, and shows there that the ledger cannot be opened",
  reproduce: "reads the manifest of a run first; opens its ledger as replay",
  infra: "--ledger is a kind of store",
  "infra diff": "--ledger is a kind of store",
};

/** What a command says in an environment that has this source and all weaker ones. */
async function complaintOf(name: string, source: Source): Promise<string> {
  const has = (each: Source) => SOURCES.indexOf(each) >= SOURCES.indexOf(source);
  const url = (each: Source) => `sqlite:${PLACES[each]}/ledger.db`;
  vi.stubEnv("TIDEGATE_LEDGER", has("variable") ? url("variable") : undefined);
  vi.stubEnv("AWS_ENDPOINT_URL", "http://127.0.0.1:1"); // No one listens there.
  const words = CALLS[name] ?? [];
  const flags = ["--data", PLACES.data, ...(has("flag") ? ["--ledger", url("flag")] : [])];
  const lines: string[] = [];
  const line = (text: string) => void lines.push(text);
  const all = [...name.split(" "), ...words, ...flags];
  expect(await runCli(all, { terminal: false, line, note: line })).not.toBe(0);
  return lines.join("\n");
}

test("every command with a ledger is in one of the two tables", async () => {
  const commands = (await allCommands()).filter(({ flags }) => "ledger" in flags);
  const expected = [...Object.keys(CALLS), ...Object.keys(WITHOUT)];
  expect(commands.map(({ name }) => name).toSorted()).toEqual(expected.toSorted());
});

test.each(Object.keys(CALLS))(
  "%s opens the ledger that the strongest source names",
  async (name) => {
    for (const source of SOURCES) {
      const complaint = await complaintOf(name, source);
      const named = SOURCES.filter((each) => complaint.includes(PLACES[each]));
      expect(named, complaint).toEqual([source]);
    }
  },
);
