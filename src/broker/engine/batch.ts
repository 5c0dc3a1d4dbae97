// Batch: the changes of the operations that run together, and the message content they refer to.
//   B1. Content that a change of this batch adds is readable immediately, whether or not the store
//       has it yet and however small the cache is.
//   B2. The batch reports which message the disk has damaged (set-aside.ts).
//   B3. The batch is full once it has read and written TEXT_MAX, however few operations it has.

import { InvariantError } from "../../core/assert.ts";
import { isCorruption } from "../../core/errors.ts";
import type { EpochMs } from "../../core/units.ts";
import type { Change, MessageContent } from "../../ports/broker/broker-change.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import type { ReplySpace } from "../../ports/http/reply-space.ts";
import type { Random } from "../../ports/random.ts";
import type { ModelStep } from "../model/step.ts";
import type { ContentCache } from "./content-cache.ts";
import { ObjectOverlay } from "./object-overlay.ts";

/** UTF-16 units of bodies. */
const TEXT_MAX = 8 * 1_024 * 1_024;

/** What a batch needs of the world. */
export interface BatchPorts {
  readonly store: BrokerStore;
  readonly random: Random;
  readonly space: ReplySpace | undefined;
}

export class Batch implements ModelStep {
  readonly now: EpochMs;
  readonly changes: Change[] = [];
  readonly objects: ObjectOverlay;
  /** The message that could not be read, which ends the batch (B2). */
  damaged: number | null = null;
  readonly #store: BrokerStore;
  readonly #cache: ContentCache;
  readonly #random: Random;
  readonly #space: ReplySpace | undefined;
  #units = 0;

  constructor(now: EpochMs, { store, random, space }: BatchPorts, cache: ContentCache) {
    this.now = now;
    this.#store = store;
    this.#cache = cache;
    this.#random = random;
    this.#space = space;
    this.objects = new ObjectOverlay(store.objects);
  }

  get isFull(): boolean {
    return this.#units >= TEXT_MAX; // B3
  }

  get mayDeliver(): boolean {
    return !this.isFull && this.#space?.isFull !== true;
  }

  newId(): string {
    return this.#random.uuid();
  }

  emit(change: Change): void {
    switch (change.kind) {
      case "put-message":
        this.#cache.put(change.head.seq, change.content);
        this.#units += change.content.body.length;
        break;
      case "move-message": {
        const content = moved(this.read(change.from), change);
        this.#cache.delete(change.from);
        this.#cache.put(change.head.seq, content);
        break;
      }
      case "delete-message":
        this.#cache.delete(change.seq);
        break;
      case "update-receipt":
        break;
      default:
        this.objects.note(change);
    }
    this.changes.push(change);
  }

  read(seq: number): MessageContent {
    const content = this.#cache.get(seq) ?? this.#stored(seq) ?? this.#pending(seq);
    if (content === undefined) throw new InvariantError(`message ${seq} has no content`);
    this.#units += content.body.length;
    return content;
  }

  #stored(seq: number): MessageContent | undefined {
    try {
      return this.#store.read(seq);
    } catch (error) {
      if (isCorruption(error)) this.damaged = seq; // B2
      throw error;
    }
  }

  /** Slow path: searches the changes of this batch (B1). */
  #pending(seq: number): MessageContent | undefined {
    for (const change of this.changes) {
      if (change.kind === "put-message" && change.head.seq === seq) return change.content;
      if (change.kind === "move-message" && change.head.seq === seq) {
        return moved(this.read(change.from), change);
      }
    }
    return undefined;
  }
}

function moved(
  content: MessageContent,
  change: Extract<Change, { kind: "move-message" }>,
): MessageContent {
  return {
    id: change.id ?? content.id,
    body: content.body,
    detail: change.detail === undefined ? content.detail : change.detail,
  };
}
