// Promises: what the process under a power cut has acknowledged, and whether a folder keeps it.

import { join } from "node:path";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import { systemPorts } from "../../src/platform/index.ts";
import { createFileBlobStore } from "../../src/stores/files/blob-store.ts";
import { createSqliteBrokerStore } from "../../src/stores/sqlite/broker/broker-store.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";

export type StoreKind = "broker" | "compact" | "blobs" | "ledger";

/** Few enough that a short run has several checkpoints. */
export const CHECKPOINT_PAGES = 40;
export const SCOPE = { pipeline: "power", generation: 0 };

/** Some hundred bytes to some pages, different for each number. */
export function bodyOf(seq: number): string {
  return `${seq}:`.padEnd(100 + ((seq * 7919) % 9_000), String(seq));
}

/** Every promise in `lines` that the folder does not keep, as a sentence. */
export async function brokenPromises(
  kind: StoreKind,
  folder: string,
  lines: readonly string[],
): Promise<string[]> {
  try {
    return await JUDGES[kind](folder, lines);
  } catch (error) {
    return lines.length === 0 ? [] : [`the folder cannot be opened: ${(error as Error).message}`];
  }
}

const JUDGES = {
  broker: judgeBroker,
  compact: judgeBroker,
  blobs: judgeBlobs,
  ledger: judgeLedger,
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
    return broken;
  } finally {
    await store.close();
  }
}

async function judgeBlobs(folder: string, lines: readonly string[]): Promise<string[]> {
  const blobs = await createFileBlobStore({ folder, onError: () => undefined });
  const broken: string[] = [];
  for (const line of lines) {
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
  await blobs.close();
  return broken;
}

async function judgeLedger(folder: string, lines: readonly string[]): Promise<string[]> {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger(systemPorts, { path, mustExist: lines.length > 0 });
  const broken: string[] = [];
  for (const seq of numbers(lines, "record")) {
    const view = await ledger.show(SCOPE, asRecordKey(`k${seq}`));
    const effects = view?.record.kind === "committed" ? view.record.effects : null;
    if (effects !== bodyOf(seq)) broken.push(`record ${seq} is lost`);
  }
  await ledger.close();
  return broken;
}
