// The OpenLineage events of a running pipeline, received by a real HTTP server and read by the
// classes of openlineage-python.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fetchLineageTools } from "../../scripts/lineage-tools.ts";
import { pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import { SILENT } from "../../src/ingest/telemetry/silent-telemetry.ts";
import { startDev } from "../../src/run/dev/start-dev.ts";
import { startLineageEvents } from "../../src/run/upkeep/lineage-events.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";

const folder = useTemporaryFolder("openlineage");
let runs = 0;

interface RunEvent {
  readonly eventType: string;
  readonly run: { readonly runId: string };
  readonly inputs: readonly { readonly name: string }[];
  readonly outputs: readonly { readonly name: string }[];
}

/** A server that answers every request with `status`, and what it received. */
async function receiver(status: number) {
  const received: { readonly path: string; readonly event: RunEvent }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => {
      body += part.toString();
    });
    request.on("end", () => {
      received.push({ path: request.url ?? "", event: JSON.parse(body) as RunEvent });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, received };
}

/** Runs a pipeline over one object, and returns its snapshot, its run id and its metrics. */
async function runOnce(openlineage: string) {
  runs += 1;
  const spec = pipeline({
    name: "lines",
    source: { bucket: "lines" },
    format: "csv",
    sink: tables({ line: { columns: { id: "text" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const row of file.rows()) upsert("line", { id: row.id ?? "" });
    },
  });
  const settings = { data: join(folder, `d${runs}`), port: 0, metricsPort: 0, openlineage };
  const running = await startDev(spec, settings, { onLogLine() {} });
  try {
    await running.put("a.csv", "id\n1\n");
    await running.idle();
    const metrics = await (await fetch(`${running.metricsOrigin}/metrics`)).text();
    return { snapshot: running.snapshot(), runId: running.runId, metrics };
  } finally {
    await running.stop();
  }
}

test("a run posts START and COMPLETE with what it read and wrote", async () => {
  const { url, received } = await receiver(200);
  const { runId } = await runOnce(url);
  expect(received.map(({ path, event }) => `${path} ${event.eventType}`)).toEqual([
    "/api/v1/lineage START",
    "/api/v1/lineage COMPLETE",
  ]);
  const events = received.map(({ event }) => event);
  expect(events.map(({ run }) => run.runId)).toEqual([runId, runId]);
  expect(events[1]?.inputs.map(({ name }) => name)).toEqual(["a.csv"]);
  expect(events[1]?.outputs.map(({ name }) => name)).toEqual(["line"]);
  const python = fetchLineageTools();
  if (typeof python !== "string") {
    if (process.env.TIDEGATE_REQUIRE_ALL === "1") throw new Error(python.missing);
    return;
  }
  const input = JSON.stringify([{ as: "openlineage", document: events }]);
  const script = join(import.meta.dirname, "check.py");
  const { stdout, stderr } = spawnSync(python, [script], { input, encoding: "utf8" });
  expect(stdout === "" ? stderr : JSON.parse(stdout)).toEqual([[]]);
});

test("a run appends its events to a file, one JSON line each", async () => {
  const file = join(folder, "events.jsonl");
  await runOnce(file);
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as RunEvent).eventType)).toEqual([
    "START",
    "COMPLETE",
  ]);
});

test("a server that rejects every event neither stops nor fails the pipeline", async () => {
  const { url, received } = await receiver(500);
  const { snapshot } = await runOnce(url);
  expect(snapshot).toMatchObject({ committed: 1, deadLettered: 0 });
  expect(received.length).toBeGreaterThan(0);
});

test("a run that fails ends with FAIL and its reason", async () => {
  const file = join(folder, "failed.jsonl");
  const clock = new ManualClock();
  const ledger = createMemoryLedger({ clock });
  const spec = pipeline({ name: "lines", source: { bucket: "lines" }, handler: () => undefined });
  const scope = { pipeline: "lines", generation: 0 };
  const id = "0193b5a0-0000-7000-8000-000000000001";
  const digests = { codeDigest: "c0de", configDigest: "c0f1" };
  const texts = { environment: "{}", parameters: "{}", counts: "{}" };
  const times = { startedAt: clock.now(), seenAt: clock.now(), endedAt: null };
  await ledger.putRun(scope, { id, kind: "live", ...digests, ...texts, ...times });
  const run = { id, pipeline: spec, ledgerUrl: "sqlite:ledger.db" };
  const events = await startLineageEvents({ clock, ledger, telemetry: SILENT }, run, file);
  await events.close("leases are no longer renewed");
  const [start, end] = readFileSync(file, "utf8").trimEnd().split("\n");
  expect(JSON.parse(start ?? "")).toMatchObject({ eventType: "START" });
  expect(JSON.parse(end ?? "")).toMatchObject({
    eventType: "FAIL",
    run: { runId: id, facets: { errorMessage: { message: "leases are no longer renewed" } } },
  });
});
