import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { anyInput } from "../../../test/support/stores/any-input.ts";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { addMs, seconds } from "../../core/units.ts";
import { pipeline, tables } from "../../ingest/spec/define-pipeline.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import { systemPorts } from "../../platform/index.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import { decodeReplayInput } from "../../replay/replay-input.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { openOperator } from "../open-operator.ts";

const folder = useTemporaryFolder("replay-runner");
const SCOPE = { pipeline: "p", generation: 0 };

test("a replay that cannot record that it runs closes its sink", async () => {
  const database = join(folder, "tables.db");
  const spec = { line: { columns: { id: "text" }, key: ["id"] } } as const;
  const sink = tables(spec, { database });
  const files = pipeline({ name: "p", source: { bucket: "b" }, handler: () => {}, sink });
  const ledger = createMemoryLedger(systemPorts, {});
  const now = systemPorts.clock.now();
  const eventTime = addMs(now, seconds(-10));
  const version = { versionId: "v", etag: "e", size: 1, sequencer: "01" };
  const object = { bucket: "b", key: "k", ...version };
  const input = anyInput({ kind: "object", dedupeKey: null, object, eventTime });
  const { sentAt, partition, lane } = input;
  const facts = {
    kind: "created",
    object,
    at: eventTime,
    eventTime,
    sentAt,
    partition,
    lane,
  } as const;
  const record = decodeReplayInput(files, { ...facts, key: asRecordKey(""), identity: "" });
  if (record === null) throw new Error("the event was not decoded");
  const attempt = { owner: "test", receivedAt: now, startedAt: now, digest: "d", input };
  await ledger.commitDirect(SCOPE, [{ ...attempt, key: record.key }]);
  let isOpen = false;
  const failing: Ledger = {
    ...ledger,
    async putRun() {
      isOpen = existsSync(`${database}-wal`);
      throw new Error("no space");
    },
  };
  const objects: ObjectSource = {
    open: async ({ versionId, etag }) => ({ kind: "opened", versionId, etag }) as OpenedObject,
  };
  const operator = openOperator({ ledger: failing, pipeline: files, objects });
  const window = { from: addMs(eventTime, seconds(-1)), to: addMs(eventTime, seconds(1)) };
  const run = operator.replays.start({ ...window, into: "live" });
  await expect(run.result()).rejects.toThrow("no space");
  expect(isOpen).toBe(true);
  expect(existsSync(`${database}-wal`)).toBe(false); // SQLite removes it with the last connection.
});
