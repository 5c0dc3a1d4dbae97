// Data folders as `kill -9` left them under earlier commits: the embedded cloud, a pipeline with
// files in every state, and the shadow of a replay.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startDev } from "../../../src/run/dev/start-dev.ts";
import { createSqliteBrokerStore } from "../../../src/stores/sqlite/broker/broker-store.ts";
import { endOf, startCommand } from "../../support/command-process.ts";
import pipeline from "../../support/old-stores/old-pipeline.ts";
import { OLD_COMMITS } from "../../support/old-stores/old-stores.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/stores");
const FILE = join(import.meta.dirname, "../../support/old-stores/old-pipeline.ts");
const WAIT = { timeout: 60_000, interval: 50 };

let data: string;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-old-folder-"));
  data = join(folder, "data");
  vi.stubEnv("REPAIRED", "yes");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const restore = (commit: string) =>
  execFileSync("tar", ["-xzf", join(FIXTURES, `${commit}.folder.tar.gz`), "-C", folder]);

function idsIn(table: string): string[] {
  const db = new DatabaseSync(join(data, "ledger.db"), { readOnly: true });
  const rows = db.prepare(`SELECT id FROM ${table} ORDER BY id`).all();
  db.close();
  return rows.map(({ id }) => String(id));
}

test.each(OLD_COMMITS)("the cloud of %s has its messages, queues and objects", async (commit) => {
  restore(commit);
  const store = createSqliteBrokerStore({ folder: data });
  const { messages } = store.load();
  const bodies = [...messages].map(({ seq }) => store.read(seq)?.body);
  expect(bodies.filter((body) => body === "first")).toHaveLength(1);
  expect(bodies).toEqual(expect.arrayContaining(["first", "second", "delayed"]));
  await store.close();
});

test.each(OLD_COMMITS)(
  "a pipeline of %s continues, and no row is written twice",
  async (commit) => {
    restore(commit);
    const committed = idsIn("orders");
    expect(committed).toEqual(["one", "two"]);
    const options = { data, port: 0, ledgerRetentionDays: 3_650 };
    const dev = await startDev(pipeline, options, { onLogLine: () => {} });
    try {
      expect(existsSync(join(data, "ledger.db.ledger-7.backup"))).toBe(true);
      await expect.poll(() => idsIn("orders"), WAIT).toContain("slow");
      const flags = ["--data", data, "--json"];
      const redriven = await endOf(startCommand(["dlq", "redrive", ...flags]));
      expect([redriven.code, redriven.err]).toEqual([0, ""]);
      await expect.poll(() => idsIn("orders"), WAIT).toContain("poison");
      expect(dev.snapshot().duplicates).toBe(0);
      const audited = await endOf(startCommand(["audit", FILE, "--data", data]));
      // The record that waits for its retry is applied once the time of its backoff has passed.
      const verdict = /accounted for: 4 applied, 1 not applied|complete; 5 applied/;
      expect(audited.out).toMatch(verdict);
      const listed = await endOf(startCommand(["replay", "list", "--pipeline", FILE, ...flags]));
      expect([listed.code, listed.err]).toEqual([0, ""]);
      expect(listed.out).toContain('"state":');
    } finally {
      await dev.drain();
    }
    const ids = idsIn("orders");
    expect(ids.filter((id) => id !== "retry")).toEqual(["one", "poison", "slow", "two"]);
    expect(readdirSync(data)).not.toContain("broker.sqlite.new");
  },
);
