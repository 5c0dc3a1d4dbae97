// The contract of BrokerStore: one suite that every adapter passes, and random histories that every
// adapter must read back like the simplest model.

import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { epochMs } from "../../src/core/units.ts";
import type {
  Change,
  DedupEntry,
  MessageContent,
  MessageHead,
  StoredDocument,
} from "../../src/ports/broker/broker-change.ts";
import type { BrokerStore } from "../../src/ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../src/stores/memory/broker-store.ts";
import { isFullSize } from "../support/full-size.ts";

/** One storage location, which can be reopened any number of times. */
export interface StoreHome {
  open(): Promise<BrokerStore>;
  /** Closes and opens again, as a restart does. */
  reopen(store: BrokerStore): Promise<BrokerStore>;
  dispose(): Promise<void>;
}

export interface LoadedStore {
  readonly sequence: number;
  readonly documents: StoredDocument[];
  readonly dedups: DedupEntry[];
  readonly messages: MessageHead[];
}

/** Opening a file is slow; broker-writer.test.ts runs many more, without files. */
const HISTORY_RUNS = isFullSize ? 15 : 4;
const HISTORY_SIZES = { commitsMax: 12, changesMax: 20 };

export function loadAll(store: BrokerStore): LoadedStore {
  const { sequence, documents, dedups, messages } = store.load();
  return {
    sequence,
    documents: [...documents],
    dedups: [...dedups],
    messages: [...messages],
  };
}

export function message(seq: number, over: Partial<MessageHead & MessageContent> = {}): Change {
  const head = {
    seq,
    queue: 1,
    sentAt: epochMs(1_700_000_000_000 + seq),
    dueAt: epochMs(1_700_000_000_000 + seq),
    receivedAt: epochMs(0),
    firstReceivedAt: epochMs(0),
    receiveCount: 0,
    group: null,
    arrivalCount: 0,
  };
  const { id = `id-${seq}`, body = `body ${seq}`, detail = null, ...rest } = over;
  return { kind: "put-message", head: { ...head, ...rest }, content: { id, body, detail } };
}

export function headOf(change: Change): MessageHead {
  if (change.kind !== "put-message") throw new Error(`${change.kind} has no head`);
  return change.head;
}

export function describeBrokerStore(name: string, createHome: () => Promise<StoreHome>): void {
  describe(`the ${name} broker store`, () => {
    const homes: StoreHome[] = [];
    const home = async () => {
      const created = await createHome();
      homes.push(created);
      return created;
    };
    afterEach(async () => {
      for (const each of homes.splice(0)) await each.dispose();
    });
    describeMessages(home);
    describeTheRest(home);
  });
}

function describeMessages(home: () => Promise<StoreHome>): void {
  test("a new store is empty", async () => {
    const store = await (await home()).open();
    expect(loadAll(store)).toEqual({ sequence: 0, documents: [], dedups: [], messages: [] });
    expect(store.read(1)).toBeUndefined();
    await store.close();
  });

  test("messages are read in order of seq, with every field unchanged", async () => {
    const { open } = await home();
    const store = await open();
    loadAll(store);
    const full = message(7, {
      group: "",
      arrivalCount: 2,
      detail: "{}",
      body: "a\u0000b\u{1f600}",
    });
    await store.commit([message(9), full, message(8, { group: "tenant-1" })]);
    const expected = [headOf(full), headOf(message(8, { group: "tenant-1" })), headOf(message(9))];
    expect(loadAll(store).messages).toEqual(expected);
    expect(store.read(7)).toEqual({ id: "id-7", body: "a\u0000b\u{1f600}", detail: "{}" });
    await store.close();
  });

  test("a receipt changes the four fields of a receipt and nothing else", async () => {
    const store = await (await home()).open();
    loadAll(store);
    await store.commit([message(1), message(2)]);
    const receipt = {
      dueAt: epochMs(1_700_000_030_000),
      receivedAt: epochMs(1_700_000_000_500),
      firstReceivedAt: epochMs(1_700_000_000_400),
      receiveCount: 300,
    };
    await store.commit([{ kind: "update-receipt", seq: 2, ...receipt }]);
    const expected = [headOf(message(1)), { ...headOf(message(2)), ...receipt }];
    expect(loadAll(store).messages).toEqual(expected);
    expect(store.read(2)?.body).toBe("body 2");
    await store.close();
  });

  test("a moved message keeps its content, except for a new id and detail", async () => {
    const store = await (await home()).open();
    loadAll(store);
    await store.commit([message(1, { detail: "d" }), message(2, { detail: "d" }), message(3)]);
    const to = (seq: number) => headOf(message(seq, { queue: 2 }));
    await store.commit([
      { kind: "move-message", from: 1, head: to(11), id: null, detail: undefined },
      { kind: "move-message", from: 2, head: to(12), id: "new", detail: null },
      { kind: "move-message", from: 3, head: to(13), id: null, detail: "added" },
    ]);
    expect(loadAll(store).messages).toEqual([to(11), to(12), to(13)]);
    expect([1, 2, 3].map((seq) => store.read(seq))).toEqual([undefined, undefined, undefined]);
    expect([11, 12, 13].map((seq) => store.read(seq))).toEqual([
      { id: "id-1", body: "body 1", detail: "d" },
      { id: "new", body: "body 2", detail: null },
      { id: "id-3", body: "body 3", detail: "added" },
    ]);
    await store.close();
  });

  test("a deleted message is gone, and so is its content", async () => {
    const store = await (await home()).open();
    loadAll(store);
    await store.commit([message(1), message(2)]);
    await store.commit([{ kind: "delete-message", seq: 1 }]);
    expect(loadAll(store).messages).toEqual([headOf(message(2))]);
    expect(store.read(1)).toBeUndefined();
    await store.close();
  });

  test("reads see both of two overlapping commits before either has ended (S2, S4)", async () => {
    const { open, reopen } = await home();
    const store = await open();
    loadAll(store);
    const first = store.commit([message(1), message(2), message(3)]);
    const to = headOf(message(4, { queue: 2 }));
    const second = store.commit([
      { kind: "delete-message", seq: 1 },
      { kind: "move-message", from: 2, head: to, id: "new", detail: "d" },
    ]);
    const bodies = () => [1, 2, 3, 4].map((seq) => store.read(seq)?.body);
    expect(bodies()).toEqual([undefined, undefined, "body 3", "body 2"]);
    await first;
    expect(bodies()).toEqual([undefined, undefined, "body 3", "body 2"]);
    await second;
    expect(bodies()).toEqual([undefined, undefined, "body 3", "body 2"]);
    const again = await reopen(store);
    expect(loadAll(again).messages).toEqual([headOf(message(3)), to]);
    await again.close();
  });

  test("an empty commit ends after those before it (S4)", async () => {
    const store = await (await home()).open();
    loadAll(store);
    const ended: string[] = [];
    const first = store.commit([message(1)]).then(() => ended.push("first"));
    const empty = store.commit([]).then(() => ended.push("empty"));
    await Promise.all([first, empty]);
    expect(ended).toEqual(["first", "empty"]);
    await store.close();
  });

  test("changing a missing message is a broken invariant, not silently ignored", async () => {
    const store = await (await home()).open();
    loadAll(store);
    await expect(store.commit([{ kind: "delete-message", seq: 5 }])).rejects.toThrow(/message 5/);
    await store.close();
  });
}

function describeTheRest(home: () => Promise<StoreHome>): void {
  test("a queue drops the ids accepted before an instant, and no others", async () => {
    const store = await (await home()).open();
    loadAll(store);
    const entry = (queue: number, seq: number, acceptedAt: number): DedupEntry => ({
      queue,
      digest: `${seq}`.padStart(32, "0"),
      acceptedAt: epochMs(acceptedAt),
      messageId: `id-${seq}`,
      seq,
    });
    const entries = [entry(1, 1, 100), entry(2, 2, 100), entry(1, 3, 200), entry(1, 4, 150)];
    await store.commit(entries.map((each) => ({ kind: "put-dedup", entry: each })));
    await store.commit([{ kind: "expire-dedup", queue: 1, before: epochMs(150) }]);
    expect(loadAll(store).dedups).toEqual([entry(2, 2, 100), entry(1, 4, 150), entry(1, 3, 200)]);
    await store.close();
  });

  test("documents are replaced and deleted by collection and key", async () => {
    const store = await (await home()).open();
    loadAll(store);
    const put = (collection: string, key: string, value: string): Change => ({
      kind: "put-document",
      document: { collection, key, value },
    });
    await store.commit([put("queue", "a", "1"), put("task", "a", "2"), put("queue", "b", "3")]);
    await store.commit([
      put("queue", "a", "4"),
      { kind: "delete-document", collection: "queue", key: "b" },
      { kind: "delete-document", collection: "queue", key: "never was" },
    ]);
    expect(loadAll(store).documents).toEqual([
      { collection: "queue", key: "a", value: "4" },
      { collection: "task", key: "a", value: "2" },
    ]);
    await store.close();
  });

  test("a closed store rejects every call", async () => {
    const store = await (await home()).open();
    loadAll(store);
    await store.close();
    await store.close();
    expect(() => store.load()).toThrow(/closed/);
    expect(() => store.read(1)).toThrow(/closed/);
    await expect(store.commit([])).rejects.toThrow(/closed/);
  });
}

/** For every store except memory, which is the model. */
export function describeHistories(name: string, home: () => Promise<StoreHome>): void {
  test(`any history reads from the ${name} store as from memory, after every commit and every reopening`, async () => {
    await fc.assert(
      fc.asyncProperty(anyHistory(HISTORY_SIZES), async (history) => {
        const { open, reopen, dispose } = await home();
        let store = await open();
        const model = createMemoryBrokerStore();
        loadAll(store);
        const numbers = { next: 1 };
        let inFlight: Promise<void>[] = [];
        for (const step of history) {
          const changes = meaningful(step.choices, loadAll(model), numbers);
          // Two at a time, unless everything is reloaded: reads see both (S2, S4).
          await inFlight.at(-2);
          inFlight = [...inFlight.slice(-1), store.commit(changes)];
          await model.commit(changes);
          if (step.reopen || step.reload) await Promise.all(inFlight);
          if (step.reopen) store = await reopen(store);
          const expected = loadAll(model);
          if (step.reopen || step.reload) expect(loadAll(store)).toEqual(expected);
          for (const { seq } of expected.messages) expect(store.read(seq)).toEqual(model.read(seq));
        }
        await Promise.all(inFlight);
        expect(loadAll(store)).toEqual(loadAll(model));
        await store.close();
        await dispose();
      }),
      { numRuns: HISTORY_RUNS },
    );
  });
}

interface Choice {
  readonly kind: Change["kind"];
  readonly pick: number;
  readonly time: number;
  readonly text: string;
  readonly flag: boolean;
}

/** Random histories of a broker, as choices that `meaningful` turns into changes. */
export function anyHistory(sizes: { readonly commitsMax: number; readonly changesMax: number }) {
  const kinds = [
    ...Array<Change["kind"]>(4).fill("put-message"),
    "update-receipt",
    "move-message",
    "delete-message",
    "put-dedup",
    "expire-dedup",
    "put-document",
    "delete-document",
    "set-sequence",
  ] as const;
  const choice: fc.Arbitrary<Choice> = fc.record({
    kind: fc.constantFrom(...kinds),
    pick: fc.nat(),
    time: fc.oneof(fc.nat(400), fc.integer({ min: 0, max: 2 ** 50 })),
    text: fc.oneof(fc.string({ unit: "binary" }), fc.constant("x".repeat(9_000))),
    flag: fc.boolean(),
  });
  const step = fc.record({
    choices: fc.array(choice, { maxLength: sizes.changesMax, size: "max" }),
    reopen: fc.boolean(),
    reload: fc.boolean(),
  });
  return fc.array(step, { maxLength: sizes.commitsMax });
}

/**
 * Turns raw choices into changes that a broker could make: they refer to existing messages, and no
 * number is reused.
 */
export function meaningful(
  choices: readonly Choice[],
  stored: LoadedStore,
  numbers: { next: number },
): Change[] {
  const live = stored.messages.map((head) => head.seq);
  const changes: Change[] = [];
  for (const choice of choices) {
    const at = live.length === 0 ? -1 : choice.pick % live.length;
    const seq = live[at];
    const fresh = headOf(headWith(numbers.next, choice));
    switch (choice.kind) {
      case "put-message":
        changes.push(headWith(numbers.next, choice));
        live.push(numbers.next++);
        break;
      case "update-receipt":
        if (seq !== undefined) changes.push({ ...receiptOf(choice), seq });
        break;
      case "move-message":
        if (seq === undefined) break;
        changes.push({
          kind: "move-message",
          from: seq,
          head: fresh,
          id: choice.flag ? choice.text : null,
          detail: choice.pick % 3 === 0 ? undefined : choice.flag ? null : choice.text,
        });
        live[at] = numbers.next++;
        break;
      case "delete-message":
        if (seq === undefined) break;
        changes.push({ kind: "delete-message", seq });
        live.splice(at, 1);
        break;
      default:
        changes.push(restOf(choice, numbers.next++));
    }
  }
  return changes;
}

function headWith(seq: number, choice: Choice): Change {
  const times = receiptOf(choice);
  return message(seq, {
    queue: choice.pick % 5,
    sentAt: epochMs(choice.time),
    dueAt: times.dueAt,
    group: choice.flag ? choice.text : null,
    arrivalCount: choice.pick % 9,
    body: choice.text,
    detail: choice.flag ? null : choice.text,
  });
}

function receiptOf(choice: Choice): Extract<Change, { kind: "update-receipt" }> {
  return {
    kind: "update-receipt",
    seq: 0,
    dueAt: epochMs(choice.time + 30),
    receivedAt: epochMs(choice.time),
    firstReceivedAt: epochMs(Math.floor(choice.time / 2)),
    receiveCount: choice.pick,
  };
}

function restOf(choice: Choice, seq: number): Change {
  const queue = choice.pick % 3;
  const collection = `c${choice.pick % 2}`;
  const key = `k${choice.pick % 4}${choice.flag ? "\u{ffff}" : "\u{10000}"}`;
  switch (choice.kind) {
    case "put-dedup": {
      const digest = choice.pick.toString(16).padStart(32, "0");
      const acceptedAt = epochMs(choice.time);
      return {
        kind: "put-dedup",
        entry: { queue, digest, acceptedAt, messageId: choice.text, seq },
      };
    }
    case "expire-dedup":
      return { kind: "expire-dedup", queue, before: epochMs(choice.time) };
    case "put-document":
      return { kind: "put-document", document: { collection, key, value: choice.text } };
    case "delete-document":
      return { kind: "delete-document", collection, key };
    default:
      return { kind: "set-sequence", seq };
  }
}
