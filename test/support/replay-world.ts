// Replay world: a pipeline in an embedded cloud of this process, and its replays.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { type EpochMs, epochMs } from "../../src/core/units.ts";
import { type Pipeline, pipeline, tables } from "../../src/ingest/spec/define-pipeline.ts";
import type { ReplayRequest } from "../../src/replay/plan-replay.ts";
import { type RunningDev, startDev } from "../../src/run/dev/start-dev.ts";
import { type OpenedReplays, openReplays, type ReplayWhere } from "./operated.ts";

/** Doubles amounts, which is the bug that a replay repairs. */
export function ordersPipeline(factor: number, more: object = {}): Pipeline {
  return pipeline({
    name: "orders",
    source: { bucket: "orders", prefix: "in/" },
    format: "csv",
    sink: tables({ orders: { columns: { id: "text", amount: "integer" }, key: ["id"] } }),
    async handler(file, { upsert }) {
      for await (const { id = "", amount } of file.rows()) {
        upsert("orders", { id, amount: Number(amount) * factor });
      }
    },
    ...more,
  });
}

export interface ReplayWorld extends AsyncDisposable {
  readonly dev: RunningDev;
  readonly ledger: string;
  put(key: string, rows: Readonly<Record<string, number>>): Promise<void>;
  /** The live rows, as `id=amount`. */
  rows(): string[];
  replays(of: Pipeline, more?: ReplayWhere): Promise<OpenedReplays>;
  /** Everything up to now. */
  request(more?: Partial<ReplayRequest>): ReplayRequest;
}

export async function startReplayWorld(
  folder: string,
  name: string,
  of: Pipeline = ordersPipeline(2),
): Promise<ReplayWorld> {
  const data = join(folder, name);
  mkdirSync(data, { recursive: true });
  const dev = await startDev(of, { data, port: 0 }, { onLogLine: () => {} });
  const path = join(data, "ledger.db");
  let puts = 0;
  return {
    dev,
    ledger: `sqlite:${path}`,
    async put(key, rows) {
      const lines = Object.entries(rows).map(([id, amount]) => `${id},${amount}\n`);
      puts += 1;
      await dev.put(key, `id,amount\n${lines.join("")}`);
      await expect.poll(() => dev.snapshot().committed).toBe(puts);
    },
    rows() {
      const db = new DatabaseSync(path, { readOnly: true });
      const rows = db.prepare("SELECT id, amount FROM orders ORDER BY id").all();
      db.close();
      return rows.map(({ id, amount }) => `${id}=${amount}`);
    },
    replays: (fixed, more = {}) =>
      openReplays(fixed, { ledger: `sqlite:${path}`, endpoint: dev.endpoint, ...more }),
    request: (more = {}) => ({
      from: epochMs(0),
      to: now(),
      bucket: null,
      prefix: null,
      into: "shadow",
      ...more,
    }),
    [Symbol.asyncDispose]: () => dev[Symbol.asyncDispose](),
  };
}

export function now(): EpochMs {
  return epochMs(Date.now());
}
