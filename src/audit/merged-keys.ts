// Merged keys: bucket, ledger and sink side by side, key by key.
//   K1. All lists are in the order of UTF-8 bytes, so one pass finds what belongs together. Memory
//       holds two pages of each list.
//   K2. `step` is synchronous: a key costs no promise, and a caller awaits once per page.
//   K3. A merge can start again at the pages that `mark` remembered.

import { assert, present } from "../core/assert.ts";
import { compareUtf8 } from "../core/encoding/utf8-order.ts";
import type { EffectLister, ListedEffect } from "../ports/effect-lister.ts";
import type { ListPage } from "../ports/ledger.ts";
import type { ListedObject, ObjectLister } from "../ports/objects/object-lister.ts";
import type { LedgerScope } from "../ports/record.ts";
import { PageCursor } from "./page-cursor.ts";
import type { AuditedRecord } from "./record-match.ts";

/** Records of the objects of a bucket. */
export interface ObjectQuery {
  readonly by: "object";
  readonly bucket: string;
  readonly prefix: string;
}

/** The list of records of a ledger, or of a reader of it. */
export interface RecordLister {
  listRecords(
    scope: LedgerScope,
    query: ObjectQuery,
    page: ListPage,
  ): Promise<{ readonly records: readonly AuditedRecord[]; readonly next: string | null }>;
}

export interface MergePorts {
  readonly ledger: RecordLister;
  readonly lister: ObjectLister;
  readonly effects: readonly EffectLister[];
}

export interface MergeRequest {
  readonly scope: LedgerScope;
  readonly bucket: string;
  readonly prefix: string;
}

/** Where each list starts again (K3). */
export interface MergeStarts {
  readonly objects: string | null;
  readonly records: string | null;
  readonly effects: readonly (string | null)[];
}

/** Takes the records of one key; `finish` follows the last one. */
export interface KeyConsumer {
  record(listed: AuditedRecord): void;
  finish(): void;
}

/** Null skips the records of the key. */
export type OpenKey = (
  key: string,
  versions: readonly ListedObject[],
  effects: readonly ListedEffect[],
) => KeyConsumer | null;

/** Says that `fill` has to run before the next step (K2). */
export const NEEDS_PAGE = Symbol("needs page");

const PAGE_RECORDS = 1_000;

export class MergedKeys {
  readonly #openKey: OpenKey;
  readonly #objects: PageCursor<ListedObject>;
  readonly #records: PageCursor<AuditedRecord>;
  readonly #effects: readonly PageCursor<ListedEffect>[];
  /** The key that is being read; null between two keys. */
  #key: string | null = null;
  #last: string | null = null;
  #versions: ListedObject[] = [];
  /** Undefined until all versions of the key are read. */
  #consumer: KeyConsumer | null | undefined;

  constructor(
    ports: MergePorts,
    { scope, bucket, prefix }: MergeRequest,
    openKey: OpenKey,
    signal: AbortSignal,
    starts: MergeStarts | null = null,
  ) {
    this.#openKey = openKey;
    const how = { ahead: starts === null };
    this.#objects = new PageCursor(
      async (after) => {
        const { objects, next } = await ports.lister.list({ bucket, prefix, after }, signal);
        return { items: objects, next };
      },
      starts?.objects,
      how,
    );
    this.#records = new PageCursor(
      async (after) => {
        const page = { after, limit: PAGE_RECORDS };
        const query = { by: "object", bucket, prefix } as const;
        const { records, next } = await ports.ledger.listRecords(scope, query, page);
        return { items: records, next };
      },
      starts?.records,
      how,
    );
    const readEffects = (lister: EffectLister) => async (after: string | null) => {
      const { effects, next } = await lister.list({ bucket, prefix, after });
      return { items: effects, next };
    };
    this.#effects = ports.effects.map(
      (lister, at) => new PageCursor(readEffects(lister), starts?.effects[at], how),
    );
  }

  /** Reads one key; null after the last one (K2). */
  step(): string | typeof NEEDS_PAGE | null {
    if (this.#key === null) {
      if (this.#needsPage()) return NEEDS_PAGE;
      const key = this.#leastKey();
      if (key === null) return null;
      this.#begin(key);
    }
    const key = present(this.#key, "a key");
    if (this.#consumer === undefined) {
      if (!this.#takeVersions(key)) return NEEDS_PAGE;
      this.#consumer = this.#openKey(key, this.#versions, this.#takeEffects(key));
    }
    if (!this.#takeRecords(key)) return NEEDS_PAGE;
    this.#consumer?.finish();
    this.#key = null;
    return key;
  }

  async fill(): Promise<void> {
    await Promise.all([this.#objects, this.#records, ...this.#effects].map((each) => each.fill()));
  }

  /** The pages in which the key that was read last begins (K3). */
  get marked(): MergeStarts {
    return {
      objects: this.#objects.marked,
      records: this.#records.marked,
      effects: this.#effects.map(({ marked }) => marked),
    };
  }

  #begin(key: string): void {
    const last = this.#last;
    assert(last === null || compareUtf8(last, key) < 0, `${key} is listed out of order`); // K1
    this.#last = key;
    this.#key = key;
    this.#versions = [];
    this.#consumer = undefined;
    this.#objects.mark();
    this.#records.mark();
    for (const cursor of this.#effects) cursor.mark();
  }

  #needsPage(): boolean {
    if (this.#objects.needsPage || this.#records.needsPage) return true;
    for (const cursor of this.#effects) if (cursor.needsPage) return true;
    return false;
  }

  #leastKey(): string | null {
    let least = this.#objects.head?.key ?? null;
    least = lesser(least, this.#records.head?.input.object?.key);
    for (const cursor of this.#effects) least = lesser(least, cursor.head?.key);
    return least;
  }

  /** Whether all versions are read; false at the end of a page. */
  #takeVersions(key: string): boolean {
    const objects = this.#objects;
    for (let { head } = objects; head?.key === key; { head } = objects) {
      this.#versions.push(head);
      objects.advance();
    }
    return !objects.needsPage;
  }

  /** An object has one effect at most in each list, so no page ends within a key. */
  #takeEffects(key: string): ListedEffect[] {
    const effects: ListedEffect[] = [];
    for (const cursor of this.#effects) {
      const { head } = cursor;
      if (head?.key !== key) continue;
      effects.push(head);
      cursor.advance();
    }
    return effects;
  }

  /** Whether all records are read; false at the end of a page. */
  #takeRecords(key: string): boolean {
    const records = this.#records;
    for (let { head } = records; head?.input.object?.key === key; { head } = records) {
      this.#consumer?.record(head);
      records.advance();
    }
    return !records.needsPage;
  }
}

function lesser(least: string | null, key: string | undefined): string | null {
  if (key === undefined || key === least) return least;
  return least === null || compareUtf8(key, least) < 0 ? key : least;
}
