// Dead-letter index: the dead letters of a pipeline by group, counted in the background, so that a
// hundred thousand of them are shown at once.
//   X1. A pass reads dossiers page by page, up to a maximum. While the first pass runs, and if
//       there are more dossiers, the index has what was read and says that there is more.
//   X2. A dossier whose record was committed since is not a dead letter (I1 of
//       dead-letter-list.ts).
//   X3. The index keeps keys, times and groups only. Dossiers are read from the ledger when shown,
//       and were masked when they were written.
//   X4. A group is a class and a fingerprint: failures of one cause.

import { sha256Hex } from "../../core/encoding/hash.ts";
import { type Dossier, decodeDossier } from "../../ingest/dead-letters/dossier.ts";
import { showRecords } from "../../ingest/dead-letters/show-records.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger, Note } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";
import { createRefresher, type Refresher } from "./refresher.ts";

export interface IndexedDeadLetter {
  readonly key: string;
  /** The instant of its note: a dossier that did not change is not decoded again. */
  readonly notedAt: number;
  readonly group: string;
  readonly failedAt: number;
}

export interface IndexedGroup {
  readonly id: string;
  readonly errorClass: string;
  readonly fingerprint: string;
  readonly message: string;
  readonly firstFailedAt: number;
  /** Newest failure first. */
  readonly items: readonly IndexedDeadLetter[];
}

export interface IndexedDeadLetters {
  readonly at: number;
  /** Most frequent first. */
  readonly groups: readonly IndexedGroup[];
  readonly total: number;
  /** Whether there are more than were counted (X1). */
  readonly more: boolean;
}

export interface DeadLetterIndex {
  read(): Promise<IndexedDeadLetters>;
  /** What is known without reading anything; null before the first look. */
  peek(): { readonly count: number; readonly more: boolean } | null;
}

const PASS_MS = 1_000;
const NOTES_PER_PAGE = 100;
/** Bounds the memory of an index. */
const DOSSIERS_MAX = 100_000;
const ID_CHARS = 16;

interface GroupFacts {
  readonly errorClass: string;
  readonly fingerprint: string;
  message: string;
  messageAt: number;
  firstFailedAt: number;
}

interface IndexPorts {
  readonly clock: Clock;
  readonly ledger: Ledger;
}

/** Passes take `share` of the time, and read `max` dossiers, at most. */
export function createDeadLetterIndex(
  ports: IndexPorts,
  scope: LedgerScope,
  share?: number,
  max = DOSSIERS_MAX,
): DeadLetterIndex {
  return new LedgerIndex(ports, scope, { share, max });
}

class LedgerIndex implements DeadLetterIndex {
  readonly #ports: IndexPorts;
  readonly #scope: LedgerScope;
  readonly #items = new Map<string, IndexedDeadLetter>();
  readonly #facts = new Map<string, GroupFacts>();
  readonly #passes: Refresher<IndexedDeadLetters>;
  readonly #max: number;
  #complete = false;

  constructor(
    ports: IndexPorts,
    scope: LedgerScope,
    { share, max }: { readonly share: number | undefined; readonly max: number },
  ) {
    this.#ports = ports;
    this.#scope = scope;
    this.#max = max;
    this.#passes = createRefresher(ports.clock, () => this.#pass(), PASS_MS, share);
  }

  async read(): Promise<IndexedDeadLetters> {
    return (await this.#passes.value()) ?? this.#view(true); // X1
  }

  peek(): { readonly count: number; readonly more: boolean } | null {
    if (!this.#complete && this.#items.size === 0) return null;
    return { count: this.#items.size, more: !this.#complete };
  }

  async #pass(): Promise<IndexedDeadLetters> {
    const present = new Set<string>();
    let after: string | null = null;
    let complete = false;
    for (let read = 0; read < this.#max && !complete; read += NOTES_PER_PAGE) {
      const request = { after, limit: NOTES_PER_PAGE };
      const page: readonly Note[] = await this.#ports.ledger.listNotes(
        this.#scope,
        "dossier",
        request,
      );
      await this.#addPage(page, present);
      after = page.at(-1)?.name ?? null;
      complete = page.length < NOTES_PER_PAGE;
    }
    for (const key of this.#items.keys()) if (!present.has(key)) this.#items.delete(key);
    this.#complete = complete; // X1
    return this.#view(!complete);
  }

  async #addPage(page: readonly Note[], present: Set<string>): Promise<void> {
    const keys = page.map(({ name }) => asRecordKey(name));
    const views = await showRecords(this.#ports.ledger, this.#scope, keys);
    for (const note of page) {
      if (views.get(asRecordKey(note.name))?.record.kind === "committed") continue; // X2
      present.add(note.name);
      if (this.#items.get(note.name)?.notedAt !== note.at) this.#addItem(note);
    }
  }

  #addItem({ name, at, body }: Note): void {
    const dossier = decodeDossier(body);
    const group = groupId(dossier);
    this.#items.set(name, { key: name, notedAt: at, group, failedAt: dossier.last_failed_at });
    const { error_class: errorClass, fingerprint, message } = dossier;
    const { first_failed_at: firstFailedAt, last_failed_at: messageAt } = dossier;
    const previous = this.#facts.get(group);
    if (previous === undefined) {
      this.#facts.set(group, { errorClass, fingerprint, message, messageAt, firstFailedAt });
      return;
    }
    previous.firstFailedAt = Math.min(previous.firstFailedAt, firstFailedAt);
    if (messageAt >= previous.messageAt) Object.assign(previous, { message, messageAt });
  }

  #view(more: boolean): IndexedDeadLetters {
    const byGroup = Map.groupBy(this.#items.values(), ({ group }) => group);
    const groups = [...byGroup].map(([id, members]): IndexedGroup => {
      const { errorClass, fingerprint, message, firstFailedAt } = this.#facts.get(id) as GroupFacts;
      const items = members.toSorted((a, b) => b.failedAt - a.failedAt || order(a.key, b.key));
      return { id, errorClass, fingerprint, message, firstFailedAt, items };
    });
    groups.sort((a, b) => b.items.length - a.items.length || order(a.id, b.id));
    return { at: this.#ports.clock.now(), groups, total: this.#items.size, more };
  }
}

function order(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** X4 */
export function groupId({ error_class, fingerprint }: Dossier): string {
  return sha256Hex(JSON.stringify([error_class, fingerprint])).slice(0, ID_CHARS);
}
