// The process under a power cut: works on one kind of store and writes down, in a file that the
// trace records as well, each promise it made. Usage: worker.ts KIND ROOT FIRST LAST [stop], where
// "stop" ends the process at the first failure, without closing anything, as a supervisor would.

import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Change } from "../../src/core/broker-change.ts";
import { epochMs } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { createFileBlobStore } from "../../src/stores/files/blob-store.ts";
import { createSqliteBrokerStore } from "../../src/stores/sqlite/broker/broker-store.ts";
import { compactBrokerFolder } from "../../src/stores/sqlite/broker/compact-folder.ts";
import { makeFolder } from "../../src/stores/sqlite/broker/make-folder.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { message } from "../contracts/broker-store.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { bodyOf, CHECKPOINT_PAGES, SCOPE } from "./promises.ts";

const [kind = "", root = "", from = "1", to = "0", onFailure = ""] = process.argv.slice(2);
const [first, last] = [Number(from), Number(to)];
const data = join(root, "data");
const promises = openSync(join(root, "promises"), "a");

const MESSAGES_PER_COMPACTION = 15;

/** Synchronous, so that its place in the trace is after everything it rests on. */
function promise(line: string): void {
  writeSync(promises, `${line}\n`);
}

/** The last line says where the next process continues. */
function failed(seq: number): void {
  if (onFailure === "stop") {
    promise(`stopped ${seq}`);
    process.kill(process.pid, "SIGKILL");
  }
}

async function workOnBroker(from = first, through = last): Promise<void> {
  const store = createSqliteBrokerStore({ folder: data, checkpointPages: CHECKPOINT_PAGES });
  const load = () => {
    for (;;) {
      try {
        for (const _head of store.load().messages);
        return;
      } catch {
        // The disk fails once; the next look succeeds.
      }
    }
  };
  load();
  for (let seq = from; seq <= through; seq += 1) {
    const changes: Change[] = [message(seq, { body: bodyOf(seq) })];
    if (seq % 3 === 0) changes.push({ kind: "delete-message", seq: seq - 2 });
    if (seq % 3 === 0) promise(`may-delete ${seq - 2}`);
    try {
      await store.commit(changes);
      promise(`put ${seq}`);
      if (seq % 3 === 0) promise(`deleted ${seq - 2}`);
    } catch {
      failed(seq);
      load();
    }
  }
  await store.close();
}

/** Compacts the folder every few messages, also after a compaction that failed. */
async function workAndCompact(): Promise<void> {
  for (let from = first; from <= last; from += MESSAGES_PER_COMPACTION) {
    await workOnBroker(from, Math.min(last, from + MESSAGES_PER_COMPACTION - 1));
    try {
      compactBrokerFolder(data, () => undefined);
    } catch {
      // The disk fails once; the folder must be as before.
    }
  }
}

async function workOnBlobs(): Promise<void> {
  makeFolder(data);
  const blobs = await createFileBlobStore({ folder: data, onError: () => undefined });
  for (let seq = first; seq <= last; seq += 1) {
    try {
      const staged = await blobs.stage(chunksOf(Buffer.from(bodyOf(seq))));
      await staged.publish();
      staged.keep();
      promise(`blob ${staged.id} ${seq}`);
    } catch {
      failed(seq);
    }
  }
  await blobs.close();
}

async function* chunksOf(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield Uint8Array.from(bytes);
}

async function workOnLedger(): Promise<void> {
  makeFolder(data);
  const path = join(data, "ledger.db");
  const open = () => {
    for (;;) {
      try {
        return createSqliteLedger(systemPorts, { path, checkpointPages: CHECKPOINT_PAGES });
      } catch {
        // The disk fails once; the next attempt succeeds.
      }
    }
  };
  const ledger = open();
  for (let seq = first; seq <= last; seq += 1) {
    const at = epochMs(systemPorts.clock.now());
    const key = asRecordKey(`k${seq}`);
    const commit = {
      key,
      owner: "w",
      input: ANY_INPUT,
      receivedAt: at,
      startedAt: at,
      digest: "d",
      effects: bodyOf(seq),
    };
    try {
      const [result] = await ledger.commitDirect(SCOPE, [commit]);
      if (result?.kind === "committed") promise(`record ${seq}`);
    } catch {
      failed(seq);
    }
  }
  await ledger.close();
}

const WORK: Readonly<Record<string, () => Promise<void>>> = {
  broker: () => workOnBroker(),
  compact: workAndCompact,
  blobs: workOnBlobs,
  ledger: workOnLedger,
};
await WORK[kind]?.();
