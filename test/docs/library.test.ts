import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import orders from "../../examples/orders.ts";
import { startDev } from "../../src/api/run.ts";
import { rowsOf } from "../support/markdown-table.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const folder = useTemporaryFolder("library");
const page = readFileSync(join(root, "docs/reference/library.md"), "utf8");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const source = [
  "src/cloud/cloud-options.ts",
  "src/cloud/public-cloud.ts",
  "src/run/run-pipeline.ts",
  "src/run/dev/start-dev.ts",
  "src/testkit/test-pipeline.ts",
  "src/audit/audit-sources.ts",
  "src/operate/audits.ts",
  "src/operate/backfill.ts",
  "src/operate/replays/replays.ts",
  "src/operate/replays/replay-runner.ts",
  "src/operate/sources.ts",
  "src/operate/open-operator.ts",
  "src/operate/completeness.ts",
  "src/operate/dead-letters.ts",
  "src/operate/pause.ts",
  "src/operate/history.ts",
  "src/operate/records.ts",
  "src/operate/lineage.ts",
  "src/operate/runs.ts",
  "src/operate/jobs.ts",
  "src/operate/outbox.ts",
  "src/operate/ledgers.ts",
  "src/ingest/late/complete-up-to.ts",
  "src/ingest/dead-letters/dead-letter-access.ts",
]
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");

/** The members of an interface, in their order. */
function membersOf(name: string): string[] {
  const body = new RegExp(`^export interface ${name}\\b.*?^}`, "ms").exec(source)?.[0] ?? "";
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[:(]/gm)].map(
    ([, member]) => `\`${member}\``,
  );
}

const STORE_PATHS: Readonly<Record<string, string>> = {
  memory: "memory",
  SQLite: "sqlite",
  PostgreSQL: "postgres",
  DynamoDB: "dynamodb",
};

const cells = (heading: string) => rowsOf(page, heading).map(([cell = ""]) => cell);

test("the page lists every import path of the package, and no other", () => {
  const paths = Object.keys(manifest.exports).filter((path) => path !== "./package.json");
  const names = paths.map((path) => `\`${path.replace(/^\./, "tidegate")}\``);
  expect(cells("import").toSorted()).toEqual(names.toSorted());
});

test.each([
  ["option", ["CloudOptions"]],
  ["member", ["PublicCloud"]],
  ["start option", ["StartOptions", "DevOptions"]],
  ["running", ["RunningPipeline"]],
  ["in dev", ["RunningDev"]],
  ["test option", ["TestPipelineOptions"]],
  ["in a test", ["TestPipeline"]],
  ["operator", ["Operator"]],
  ["operator option", ["SourceOptions"]],
  ["completeness", ["Completeness", "PipelineCompleteness"]],
  ["dead letters", ["DeadLetterAccess", "DeadLetters"]],
  ["control", ["PipelineControl"]],
  ["history", ["EventHistories"]],
  ["records", ["RecordLists"]],
  ["selection", ["RecordSelection"]],
  ["lineage", ["LineageReader"]],
  ["runs", ["RunReader"]],
  ["jobs", ["JobAccess"]],
  ["outbox", ["OutboxAccess"]],
  ["ledger", ["LedgerAccess"]],
  ["filter", ["DeadLetterSelection"]],
  ["audits", ["Audits"]],
  ["audit option", ["AuditRequest"]],
  ["backfill option", ["BackfillRequest"]],
  ["replays", ["Replays"]],
  ["replay window", ["ReplaySelection"]],
  ["replay option", ["ReplayRunOptions"]],
  ["redrive option", ["RedriveRequest"]],
])("the page lists every %s of the code, and no other", (heading, interfaces) => {
  expect(cells(heading).toSorted()).toEqual(interfaces.flatMap(membersOf).toSorted());
});

test("the options of drop are among those of redrive, as the page says", () => {
  expect(membersOf("RedriveRequest")).toEqual(expect.arrayContaining(membersOf("DropRequest")));
});

test("the page lists every function that tidegate/run exports", async () => {
  const exported = Object.entries(await import("../../src/api/run.ts"));
  const functions = exported.filter(([name]) => name !== "TidegateError").map(([name]) => name);
  const names = cells("function").map((cell) => /^`(\w+)\(/.exec(cell)?.[1]);
  expect(names.toSorted()).toEqual(functions.toSorted());
});

test("the page lists every function on statements that tidegate/operate exports", async () => {
  const exported = Object.keys(await import("../../src/api/operate.ts"));
  const functions = exported.filter((name) => /Statement$|SigningKey$/.test(name));
  const names = cells("statement function").map((cell) => /^`(\w+)\(/.exec(cell)?.[1]);
  expect(names.toSorted()).toEqual(functions.toSorted());
});

test("every function that the page names as a port is exported where the page says", async () => {
  for (const [from = "", name = ""] of rowsOf(page, "from")) {
    const path = from.replaceAll("`", "").replace("tidegate/", "");
    const exported = await import(join(root, "src/api", `${path}.ts`));
    expect(Object.keys(exported), path).toContain(name.replaceAll("`", ""));
  }
  for (const [store = "", ...calls] of rowsOf(page, "store")) {
    const exported = await import(join(root, "src/api/stores", `${STORE_PATHS[store]}.ts`));
    for (const call of calls) {
      expect(Object.keys(exported)).toContain(/create\w+/.exec(call)?.[0]);
    }
  }
});

test.each(["pipeline.test.ts", "dead-letters.ts"])("the page shows examples/%s", (file) => {
  expect(page).toContain(`\`\`\`ts\n${readFileSync(join(root, "examples", file), "utf8")}\`\`\``);
});

test("the example of a test pipeline passes under node:test", () => {
  const flags = ["--conditions=tidegate-source", "--test", "--test-reporter=tap"];
  const args = [...flags, "examples/pipeline.test.ts"];
  const output = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(output).toMatch(/^# pass 2$/m);
});

test("the example of dead letters lists, redrives and drops", async () => {
  await using dev = await startDev(
    orders,
    { data: join(folder, ".tidegate"), port: 0 },
    { onLogLine: () => {} },
  );
  await dev.put("orders/1.csv", "id,amount\n7,much\n");
  await dev.idle();
  const env = { ...process.env, AWS_ENDPOINT_URL: dev.endpoint, AWS_REGION: "us-east-1" };
  const keys = { AWS_ACCESS_KEY_ID: "any", AWS_SECRET_ACCESS_KEY: "any" };
  const args = ["--conditions=tidegate-source", join(root, "examples/dead-letters.ts")];
  const options = { cwd: folder, env: { ...env, ...keys } };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  expect(stdout).toMatch(/^s3:\/\/shop\/orders\/1.csv .+$/m);
  expect(stdout).toContain("0 committed, 1 failed again\n1 dropped\n");
});
