// The contract of objects in a BrokerStore: any history of changes reads from every adapter as from
// the memory store, before and after it is reopened.

import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import type { BrokerStore } from "../../src/ports/broker/broker-store.ts";
import type {
  ObjectChange,
  ObjectReads,
  StoredObject,
} from "../../src/ports/broker/object-change.ts";
import { createMemoryBrokerStore } from "../../src/stores/memory/broker-store.ts";
import { loadAll, type StoreHome } from "./broker-store.ts";

const KEYS = ["", "a", "a/b", "b", "é", "\u{ffff}", "\u{1f30a}", "n\u0000l", " "];
const UPLOADS = ["u1", "u2"];
const ALL = Number.MAX_SAFE_INTEGER;

interface Choice {
  readonly kind: ObjectChange["kind"];
  readonly bucket: number;
  readonly key: string;
  readonly pick: number;
  readonly text: string;
}

const anyChoice: fc.Arbitrary<Choice> = fc.record({
  kind: fc.constantFrom(
    "put-object",
    "put-object",
    "delete-object",
    "put-blob",
    "delete-blob",
    "put-upload",
    "delete-upload",
    "put-part",
  ),
  bucket: fc.integer({ min: 1, max: 2 }),
  key: fc.constantFrom(...KEYS),
  pick: fc.nat(1_000),
  text: fc.string({ unit: "binary", maxLength: 8 }),
});

/** Turns raw choices into changes that a broker could make: they refer to existing rows. */
class History {
  readonly #objects = new Map<number, StoredObject>();
  readonly #uploads = new Map<string, { bucket: number; key: string }>();
  #seq = 0;

  changesOf(choices: readonly Choice[]): ObjectChange[] {
    return choices.flatMap((choice) => this.#changeOf(choice) ?? []);
  }

  #changeOf({ kind, bucket, key, pick, text }: Choice): ObjectChange | null {
    const blob = `blob-${pick % 5}`;
    const id = UPLOADS[pick % UPLOADS.length] as string;
    switch (kind) {
      case "put-object": {
        const object = this.#newObject(bucket, key, pick, text);
        return { kind, object };
      }
      case "delete-object": {
        const object = [...this.#objects.values()][pick % Math.max(1, this.#objects.size)];
        if (object === undefined) return null;
        this.#objects.delete(object.seq);
        return { kind, bucket: object.bucket, key: object.key, seq: object.seq };
      }
      case "put-upload": {
        if (this.#uploads.has(id)) return null;
        this.#uploads.set(id, { bucket, key });
        const upload = {
          bucket,
          key,
          id,
          startedAt: epochMs(pick),
          storageClass: "S",
          detail: text,
        };
        return { kind, upload };
      }
      case "delete-upload": {
        const upload = this.#uploads.get(id);
        this.#uploads.delete(id);
        return upload === undefined ? null : { kind, ...upload, id };
      }
      case "put-part": {
        const number = (pick % 3) + 1;
        const part = { upload: id, number, blob, sizeBytes: pick, etag: text, checksum: text };
        return { kind, part: { ...part, modifiedAt: epochMs(pick) } };
      }
      default:
        return { kind, blob };
    }
  }

  #newObject(bucket: number, key: string, pick: number, text: string): StoredObject {
    this.#seq += 1;
    const object: StoredObject = {
      bucket,
      key,
      seq: this.#seq,
      version: pick % 3 === 0 ? "null" : `v${this.#seq}`,
      marker: pick % 7 === 0,
      sizeBytes: pick * 1_000_000_007,
      etag: text,
      modifiedAt: epochMs(pick),
      storageClass: "STANDARD",
      detail: JSON.stringify({ text }),
      pieces: [{ blob: text, sizeBytes: pick }],
    };
    this.#objects.set(object.seq, object);
    return object;
  }
}

/** Every possible read, of everything that could exist. */
function tell(reads: ObjectReads): unknown {
  const positions = ["", ...KEYS].flatMap((key) => [
    { key, after: false },
    { key, after: true },
  ]);
  return [1, 2].map((bucket) => ({
    listings: positions.map((from) => [
      [...reads.entries(bucket, from)].map(({ key, seq, version, detail }) => [
        key,
        seq,
        version,
        detail,
      ]),
      [...reads.uploads(bucket, from)],
    ]),
    keys: KEYS.map((key) => [
      reads.newest(bucket, key, ALL),
      reads.newest(bucket, key, 3),
      reads.version(bucket, key, "v2"),
      UPLOADS.map((id) => reads.upload(bucket, key, id)),
    ]),
    parts: UPLOADS.map((id) => [
      [...reads.parts(id, 0)],
      [...reads.parts(id, 1)],
      reads.part(id, 2),
    ]),
    blobs: [0, 1, 2, 3, 4].map((number) => reads.hasBlob(`blob-${number}`)),
  }));
}

export function describeObjectReads(name: string, home: () => Promise<StoreHome>): void {
  test(`objects read from the ${name} store as from memory, whatever happened to them`, async () => {
    const step = fc.record({
      choices: fc.array(anyChoice, { maxLength: 12 }),
      reopen: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        const { open, reopen, dispose } = await home();
        let store: BrokerStore = await open();
        const model = createMemoryBrokerStore();
        loadAll(store);
        const history = new History();
        for (const { choices, reopen: again } of steps) {
          const changes = history.changesOf(choices);
          await store.commit(changes);
          await model.commit(changes);
          if (again) {
            store = await reopen(store);
            loadAll(store);
          }
          expect(tell(store.objects)).toEqual(tell(model.objects));
        }
        await store.close();
        await dispose();
      }),
      { numRuns: 10 },
    );
  });
}
