// Batch rows: batches and their items in maps.

import { compareUtf8 } from "../../core/encoding/utf8-order.ts";
import type { EpochMs } from "../../core/units.ts";
import type { BatchRows } from "../../ledger/outbox/batch-calls.ts";
import { liveBatch } from "../../ledger/outbox/batch-transitions.ts";
import type { LedgerInstant } from "../../ledger/store-time.ts";
import type { ExpectedItem, JobBatch, NamePage } from "../../ports/batches.ts";

interface StoredItem extends ExpectedItem {
  readonly done: boolean;
  readonly expiresAt: EpochMs;
}

export interface MemoryBatchRows extends BatchRows {
  /** Deletes up to `limit` expired batches and items. */
  purge(limit: number, expiry: EpochMs): number;
}

export function createMemoryBatchRows(
  time: () => LedgerInstant,
  checkOpen: () => void,
): MemoryBatchRows {
  const targets = new Map<string, Map<string, JobBatch>>();
  const itemsById = new Map<string, Map<string, StoredItem>>();
  const batchesOf = (target: string) => entryOf(targets, target);
  const itemsOf = (id: string) => entryOf(itemsById, id);
  return {
    time,
    async decide(target, name, step) {
      checkOpen();
      const { save, result } = step(batchesOf(target).get(name), time());
      if (save !== null) batchesOf(target).set(name, save);
      return result;
    },
    async add(id, items, expiresAt) {
      checkOpen();
      for (const { name, key } of items) {
        if (!itemsOf(id).has(name)) itemsOf(id).set(name, { name, key, done: false, expiresAt });
      }
    },
    async open(id, page) {
      checkOpen();
      const items = [...itemsOf(id).values()].filter(({ done }) => !done);
      return pageOf(items, page).map(({ name, key }) => ({ name, key }));
    },
    async done(id, items) {
      checkOpen();
      for (const { name } of items) {
        const item = itemsOf(id).get(name);
        if (item !== undefined) itemsOf(id).set(name, { ...item, done: true });
      }
    },
    async countDone(id) {
      checkOpen();
      return [...itemsOf(id).values()].filter(({ done }) => done).length;
    },
    async find(target, name) {
      checkOpen();
      return batchesOf(target).get(name);
    },
    async list(target, { expiry, ...page }) {
      checkOpen();
      const live = [...batchesOf(target).values()].filter((batch) => liveBatch(batch, expiry));
      return pageOf(live, page);
    },
    purge(limit, expiry) {
      const maps = [...targets.values(), ...itemsById.values()] as Map<string, Expiring>[];
      return maps.reduce((purged, map) => purged + purgeMap(map, limit - purged, expiry), 0);
    },
  };
}

interface Expiring {
  readonly expiresAt: EpochMs;
}

function purgeMap(map: Map<string, Expiring>, limit: number, expiry: EpochMs): number {
  let purged = 0;
  for (const [name, { expiresAt }] of map) {
    if (purged < limit && expiresAt <= expiry && map.delete(name)) purged += 1;
  }
  return purged;
}

function entryOf<T>(maps: Map<string, Map<string, T>>, key: string): Map<string, T> {
  const map = maps.get(key) ?? new Map<string, T>();
  maps.set(key, map);
  return map;
}

function pageOf<T extends { readonly name: string }>(
  values: readonly T[],
  { after, limit }: NamePage,
): T[] {
  return values
    .filter(({ name }) => after === null || compareUtf8(name, after) > 0)
    .sort((a, b) => compareUtf8(a.name, b.name))
    .slice(0, limit);
}
