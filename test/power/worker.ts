// The process under a power cut: works on one kind of store and writes down, in a file that the
// trace records as well, each promise it made. Usage: worker.ts KIND ROOT FIRST LAST [stop], where
// "stop" ends the process at the first failure, without closing anything, as a supervisor would.
//   W1. A store that refuses is asked again, and is opened again if it continues to refuse, as a
//       service does. The worker ends only after an acknowledged operation, so it shows that the
//       store works again.
//   W2. What a store shows after a failure is as good as acknowledged: others have seen it.

import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { systemPorts } from "../../src/platform/index.ts";
import type { Change } from "../../src/ports/broker/broker-change.ts";
import { createFileBlobStore } from "../../src/stores/files/blob-store.ts";
import { createSqliteBrokerStore } from "../../src/stores/sqlite/broker/broker-store.ts";
import { compactBrokerFolder } from "../../src/stores/sqlite/broker/compact-folder.ts";
import { makeFolder } from "../../src/stores/sqlite/broker/make-folder.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { message } from "../contracts/broker-store.ts";
import {
  bodyChunks,
  bodyOf,
  CHECKPOINT_PAGES,
  entryOf,
  LEASE,
  recordOf,
  SCOPE,
  TARGET,
} from "./promises.ts";

const [kind = "", root = "", from = "1", to = "0", onFailure = ""] = process.argv.slice(2);
const [first, last] = [Number(from), Number(to)];
const data = join(root, "data");
const promises = openSync(join(root, "promises"), "a");

const MESSAGES_PER_COMPACTION = 15;
/** The outbox folds its log when it is closed. */
const ENTRIES_PER_OPEN = 12;
/** More than any list of failures makes fail. */
const ATTEMPTS_MAX = 20_000;
/** Failures in a row after which a service restarts (W1). */
const FAILURES_MAX = 3;

/** Synchronous, so that its place in the trace is after everything it rests on. */
function promise(line: string): void {
  writeSync(promises, `${line}\n`);
}

/** The last line says where the next process continues. */
function failed(seq: number): void {
  promise(`failed ${seq}`);
  if (onFailure === "stop") {
    promise(`stopped ${seq}`);
    process.kill(process.pid, "SIGKILL");
  }
}

async function persist<T>(work: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX) throw error;
      await setImmediate();
    }
  }
}

/** Closing folds the log; the disk may fail meanwhile. */
async function close(store: { close(): Promise<void> }): Promise<void> {
  await store.close().catch(() => undefined);
}

interface Reopened {
  /** One operation: promises what the store acknowledged, or throws. */
  step(seq: number): Promise<void>;
  close(): Promise<void>;
}

/** Steps through the numbers on a store that can be opened again (W1). */
async function workOn(open: () => Promise<Reopened>, through = last): Promise<void> {
  let store = await persist(open);
  let failures = 0;
  for (let seq = first; seq <= through || failures > 0; seq += 1) {
    if (seq > through + ATTEMPTS_MAX) throw new Error("the store does not recover");
    try {
      await store.step(seq);
      failures = 0;
    } catch {
      failed(seq);
      failures += 1;
    }
    if (failures < FAILURES_MAX) continue;
    await close(store);
    store = await persist(open);
    failures = 1;
  }
  await close(store);
}

async function workOnBroker(begin = first, through = last): Promise<number> {
  // The reserve of a small disk limits the log by itself.
  const how = kind === "reserve" ? { reserve: true } : { checkpointPages: CHECKPOINT_PAGES };
  const store = await persist(() => createSqliteBrokerStore({ folder: data, ...how }));
  const maybeDeleted = new Set<number>();
  const load = () =>
    persist(() => {
      const present = new Set([...store.load().messages].map(({ seq }) => seq));
      for (const seq of present) promise(`put ${seq}`); // W2
      for (const seq of maybeDeleted) if (!present.has(seq)) promise(`deleted ${seq}`);
    });
  await load();
  let failures = 0;
  let seq = begin;
  for (; seq <= through || failures > 0; seq += 1) {
    if (seq > through + ATTEMPTS_MAX) throw new Error("the store does not recover");
    const changes: Change[] = [message(seq, { body: bodyOf(seq) })];
    if (seq % 3 === 0) {
      changes.push({ kind: "delete-message", seq: seq - 2 });
      maybeDeleted.add(seq - 2);
      promise(`may-delete ${seq - 2}`);
    }
    try {
      await store.commit(changes);
      if (store.space?.waitsFor != null) promise("waits");
      if (store.space?.full) await store.space.regain();
      failures = 0;
      promise(`put ${seq}`);
      if (seq % 3 === 0) promise(`deleted ${seq - 2}`);
    } catch {
      failures += 1;
      failed(seq);
      await load();
    }
  }
  await close(store);
  return seq;
}

/** Compacts the folder every few messages, also after a compaction that failed. */
async function workAndCompact(): Promise<void> {
  for (let begin = first; begin <= last; ) {
    begin = await workOnBroker(begin, Math.min(last, begin + MESSAGES_PER_COMPACTION - 1));
    try {
      compactBrokerFolder(data, () => undefined);
    } catch {
      // The folder must be as before.
    }
  }
}

async function openBlobs(): Promise<Reopened> {
  makeFolder(data);
  const blobs = await createFileBlobStore({ folder: data, onError: () => undefined });
  return {
    async step(seq) {
      const staged = await blobs.stage(bodyChunks(bodyOf(seq)));
      try {
        await staged.publish();
      } catch (error) {
        await staged.discard();
        throw error;
      }
      staged.keep();
      promise(`blob ${staged.id} ${seq}`);
    },
    close: () => blobs.close(),
  };
}

async function openLedger(): Promise<Reopened> {
  makeFolder(data);
  const path = join(data, "ledger.db");
  const ledger = createSqliteLedger(systemPorts, { path, checkpointPages: CHECKPOINT_PAGES });
  return {
    async step(seq) {
      const [result] = await ledger.commitDirect(SCOPE, [recordOf(seq)]);
      if (result?.kind === "committed") promise(`record ${seq}`);
    },
    close: () => ledger.close(),
  };
}

async function openOutbox(): Promise<Reopened> {
  makeFolder(data);
  const path = join(data, "outbox.db");
  let outbox = createSqliteOutbox(systemPorts, { path, checkpointPages: CHECKPOINT_PAGES });
  return {
    async step(seq) {
      if (seq % ENTRIES_PER_OPEN === 0) {
        await outbox.close();
        outbox = createSqliteOutbox(systemPorts, { path, checkpointPages: CHECKPOINT_PAGES });
      }
      const [result] = await outbox.register(TARGET, [entryOf(seq)], LEASE);
      if (result?.kind !== "taken") throw new Error(`entry ${seq} is ${result?.kind}`);
      promise(`registered ${seq}`);
      const messageId = `m${seq}`;
      await outbox.markSent(TARGET, [{ key: `k${seq}`, epoch: result.row.epoch, messageId }]);
      promise(`sent ${seq}`);
    },
    close: () => outbox.close(),
  };
}

const WORK: Readonly<Record<string, () => Promise<unknown>>> = {
  broker: () => workOnBroker(),
  reserve: () => workOnBroker(),
  compact: workAndCompact,
  blobs: () => workOn(openBlobs),
  ledger: () => workOn(openLedger),
  outbox: () => workOn(openOutbox),
};
await WORK[kind]?.();
