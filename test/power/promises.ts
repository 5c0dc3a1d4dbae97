// Promises: what the process under a power cut has acknowledged, and whether a folder keeps it.
//   P1. The store starts on every folder that a power cut leaves, whatever was promised, and
//       accepts a write.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { epochMs, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { systemPorts } from "../../src/platform/index.ts";
import type { OutboxEntry } from "../../src/ports/outbox.ts";
import { createFileBlobStore } from "../../src/stores/files/blob-store.ts";
import { createSqliteBrokerStore } from "../../src/stores/sqlite/broker/broker-store.ts";
import { makeFolder } from "../../src/stores/sqlite/broker/make-folder.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { createSqliteOutbox } from "../../src/stores/sqlite/ledger/outbox.ts";
import { message } from "../contracts/broker-store.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";

export type StoreKind = "broker" | "reserve" | "compact" | "blobs" | "ledger" | "outbox";

/** Few enough that a short run has several checkpoints. */
export const CHECKPOINT_PAGES = 40;
export const SCOPE = { pipeline: "power", generation: 0 };
export const TARGET = "power.fifo";
export const LEASE = { owner: "w", leaseMs: seconds(30) };
/** What a judge writes, beyond what any run writes (P1). */
const NEXT_SEQ = 1_000_000;

/** Some hundred bytes to some pages, different for each number. */
export function bodyOf(seq: number): string {
  return `${seq}:`.padEnd(100 + ((seq * 7919) % 9_000), String(seq));
}

/** What the process below `root` has written down. */
export function promisesIn(root: string): readonly string[] {
  return readFileSync(join(root, "promises"), "utf8").split("\n").slice(0, -1);
}

/** Every promise in `lines` that the folder does not keep, as a sentence. */
export async function brokenPromises(
  kind: StoreKind,
  folder: string,
  lines: readonly string[],
): Promise<string[]> {
  try {
    makeFolder(folder);
    return await JUDGES[kind](folder, lines);
  } catch (error) {
    return [`the store does not work: ${(error as Error).message}`]; // P1
  }
}

const JUDGES = {
  broker: judgeBroker,
  reserve: judgeBroker,
  compact: judgeBroker,
  blobs: judgeBlobs,
  ledger: judgeLedger,
  outbox: judgeOutbox,
};

function numbers(lines: readonly string[], word: string): Set<number> {
  const match = lines.filter((line) => line.startsWith(`${word} `));
  return new Set(match.map((line) => Number(line.split(" ")[1])));
}

async function judgeBroker(folder: string, lines: readonly string[]): Promise<string[]> {
  const store = createSqliteBrokerStore({ folder });
  try {
    const present = new Set([...store.load().messages].map(({ seq }) => seq));
    const mayBeGone = numbers(lines, "may-delete");
    const broken: string[] = [];
    for (const seq of numbers(lines, "put")) {
      if (present.has(seq)) {
        if (store.read(seq)?.body !== bodyOf(seq)) broken.push(`message ${seq} has changed`);
      } else if (!mayBeGone.has(seq)) broken.push(`message ${seq} is lost`);
    }
    for (const seq of numbers(lines, "deleted")) {
      if (present.has(seq)) broken.push(`message ${seq} is back`);
    }
    await store.commit([message(NEXT_SEQ, { body: bodyOf(NEXT_SEQ) })]); // P1
    return broken;
  } finally {
    await store.close();
  }
}

async function judgeBlobs(folder: string, lines: readonly string[]): Promise<string[]> {
  const blobs = await createFileBlobStore({ folder, onError: () => undefined });
  const broken: string[] = [];
  for (const line of lines.filter((each) => each.startsWith("blob "))) {
    const [, blob = "", seq] = line.split(" ");
    const body = bodyOf(Number(seq));
    const pieces = [{ blob, sizeBytes: body.length }];
    const chunks: Uint8Array[] = [];
    try {
      for await (const chunk of blobs.read(pieces, { from: 0, through: body.length - 1 })) {
        chunks.push(Uint8Array.from(chunk));
      }
    } catch {
      // Shorter than promised, or gone.
    }
    if (Buffer.concat(chunks).toString() !== body) broken.push(`blob ${seq} is lost`);
  }
  const next = await blobs.stage(bodyChunks(bodyOf(NEXT_SEQ)));
  await next.publish(); // P1
  await blobs.close();
  return broken;
}

export async function* bodyChunks(body: string): AsyncGenerator<Uint8Array> {
  yield Uint8Array.from(Buffer.from(body));
}

/** The record of a run with this number. */
export function recordOf(seq: number) {
  const at = epochMs(systemPorts.clock.now());
  const key = asRecordKey(`k${seq}`);
  const effects = bodyOf(seq);
  return { key, owner: "w", input: ANY_INPUT, receivedAt: at, startedAt: at, digest: "d", effects };
}

async function judgeLedger(folder: string, lines: readonly string[]): Promise<string[]> {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger(systemPorts, { path });
  try {
    const broken: string[] = [];
    for (const seq of numbers(lines, "record")) {
      const view = await ledger.show(SCOPE, asRecordKey(`k${seq}`));
      const effects = view?.record.kind === "committed" ? view.record.effects : null;
      if (effects !== bodyOf(seq)) broken.push(`record ${seq} is lost`);
    }
    await ledger.commitDirect(SCOPE, [recordOf(NEXT_SEQ)]); // P1
    return broken;
  } finally {
    await ledger.close();
  }
}

/** The entry of a run with this number. */
export function entryOf(seq: number): OutboxEntry {
  const key = `k${seq}`;
  const rest = { dedupId: key, payloadDigest: "d", attributes: {} };
  return { key, groupId: `group ${seq}`, body: bodyOf(seq), ...rest };
}

async function judgeOutbox(folder: string, lines: readonly string[]): Promise<string[]> {
  const outbox = createSqliteOutbox(systemPorts, { path: join(folder, "outbox.db") });
  try {
    const broken: string[] = [];
    const sent = numbers(lines, "sent");
    for (const seq of numbers(lines, "registered")) {
      const row = await outbox.find(TARGET, `k${seq}`);
      if (row?.body !== bodyOf(seq)) broken.push(`entry ${seq} is lost`);
      else if (sent.has(seq) && row.state !== "sent") broken.push(`entry ${seq} is not sent`);
    }
    await outbox.register(TARGET, [entryOf(NEXT_SEQ)], LEASE); // P1
    return broken;
  } finally {
    await outbox.close();
  }
}
