// A damaged data folder: the store refuses it, names the damaged file and does not change a byte.

import { createHash } from "node:crypto";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Cloud, startCloud } from "../../../src/cloud/start-cloud.ts";
import { TidegateError } from "../../../src/core/errors.ts";
import { epochMs } from "../../../src/core/units.ts";
import type { BrokerStore } from "../../../src/ports/broker/broker-store.ts";
import { createSqliteBrokerStore } from "../../../src/stores/sqlite/broker/broker-store.ts";
import { loadAll, message } from "../../contracts/broker-store.ts";
import { entry, receiveInput } from "../../support/broker/model-bench.ts";
import { isFullSize } from "../../support/full-size.ts";

const FILE = "broker.sqlite";
const LOG = "broker.sqlite-wal";
const PAGE_BYTES = 4_096;
const FRAME_BYTES = PAGE_BYTES + 24;
const COMMITS = 6;
/** A prime, so that flips hit every part of a page; file headers are tested more densely. */
const FLIP_STRIDE = isFullSize ? 509 : 2_039;
/** In the header of each frame of the log. */
const HEADER_STRIDE = isFullSize ? 7 : 23;

let root: string;
/** A folder after kill -9: file and log, with all commits still in the log. */
let killed: string;
/** A folder after a clean stop: everything in the file, no log. */
let stopped: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "tidegate-damage-"));
  stopped = mkdtempSync(join(root, "stopped-"));
  killed = mkdtempSync(join(root, "killed-"));
  const store = createSqliteBrokerStore({ folder: stopped });
  loadAll(store);
  for (let commit = 0; commit < COMMITS; commit += 1) {
    const seqs = Array.from({ length: 40 }, (_, index) => commit * 40 + index + 1);
    await store.commit([
      ...seqs.map((seq) => message(seq, { body: `body ${seq} `.repeat(60) })),
      ...seqs.map((seq) => ({
        kind: "put-dedup" as const,
        entry: {
          queue: 1,
          digest: `${seq}`.padStart(32, "0"),
          acceptedAt: epochMs(seq),
          messageId: `id-${seq}`,
          seq,
        },
      })),
      { kind: "set-sequence", seq: seqs.at(-1) ?? 0 },
    ]);
  }
  for (const name of [FILE, LOG, "broker.lock"]) {
    copyFileSync(join(stopped, name), join(killed, name));
  }
  await store.close();
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

function copyOf(folder: string): string {
  const copy = mkdtempSync(join(root, "copy-"));
  for (const name of readdirSync(folder)) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}

function hashes(folder: string): Record<string, string> {
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name)]));
}

function flip(folder: string, name: string, ...positions: number[]): void {
  const bytes = readFileSync(join(folder, name));
  for (const at of positions) bytes.writeUInt8(bytes.readUInt8(at) ^ 0x10, at);
  writeFileSync(join(folder, name), bytes);
}

async function failureOf(folder: string): Promise<TidegateError | null> {
  let store: BrokerStore | null = null;
  try {
    store = createSqliteBrokerStore({ folder });
    loadAll(store);
    return null;
  } catch (error) {
    if (error instanceof TidegateError) return error;
    throw error;
  } finally {
    await store?.close();
  }
}

async function expectRefused(folder: string, code: string, file: string): Promise<void> {
  const before = hashes(folder);
  const failure = await failureOf(folder);
  expect(failure?.code).toBe(code);
  expect(failure?.message).toContain(join(folder, file));
  expect(hashes(folder)).toEqual(before);
}

describe("an undamaged folder", () => {
  test("opens with all its data, whether its process stopped or was killed", async () => {
    for (const folder of [killed, stopped]) {
      const store = createSqliteBrokerStore({ folder: copyOf(folder) });
      const loaded = loadAll(store);
      expect(loaded.messages).toHaveLength(COMMITS * 40);
      expect(loaded.sequence).toBe(COMMITS * 40);
      expect(store.read(240)?.body).toContain("body 240");
      await store.close();
    }
  });

  test("loses at most the last commit if the tail of its log is torn", async () => {
    const folder = copyOf(killed);
    truncateSync(join(folder, LOG), readFileSync(join(folder, LOG)).length - FRAME_BYTES);
    const store = createSqliteBrokerStore({ folder });
    expect(loadAll(store).messages).toHaveLength((COMMITS - 1) * 40);
    await store.close();
  });
});

describe("a file behind a link", () => {
  function linkedCopyOf(folder: string): { folder: string; real: string } {
    const real = copyOf(folder);
    const linked = mkdtempSync(join(root, "linked-"));
    symlinkSync(join(real, FILE), join(linked, FILE));
    return { folder: linked, real };
  }

  test("is opened with the log next to its target, damaged or not", async () => {
    const sound = linkedCopyOf(killed);
    const store = createSqliteBrokerStore({ folder: sound.folder });
    expect(loadAll(store).messages).toHaveLength(COMMITS * 40);
    await store.close();
    const damaged = linkedCopyOf(killed);
    flip(damaged.real, LOG, 32 + FRAME_BYTES);
    const before = hashes(damaged.real);
    expect((await failureOf(damaged.folder))?.code).toBe("TG_STORE_CORRUPT");
    expect(hashes(damaged.real)).toEqual(before);
  });

  test("whose target is missing is not replaced by an empty one", async () => {
    const { folder, real } = linkedCopyOf(stopped);
    rmSync(real, { recursive: true });
    const failure = await failureOf(folder);
    expect(failure?.code).toBe("TG_STORE_UNAVAILABLE");
    expect(failure?.message).toBe(`data file ${join(folder, FILE)} is a broken link`);
    expect(readdirSync(folder)).toEqual([FILE]);
  });
});

describe("a damaged folder is refused and not changed", () => {
  test("if the file is not a database", async () => {
    const folder = copyOf(stopped);
    writeFileSync(join(folder, FILE), "these are not the bytes you are looking for".repeat(100));
    await expectRefused(folder, "TG_STORE_CORRUPT", FILE);
  });

  test("if the lock file is not empty", async () => {
    const folder = copyOf(stopped);
    writeFileSync(join(folder, "broker.lock"), "this file was to be empty".repeat(100));
    await expectRefused(folder, "TG_STORE_CORRUPT", "broker.lock");
  });

  test("if the file is empty", async () => {
    const folder = copyOf(stopped);
    truncateSync(join(folder, FILE), 0);
    await expectRefused(folder, "TG_STORE_CORRUPT", FILE);
  });

  test("if the file is truncated, with or without a log", async () => {
    for (const source of [stopped, killed]) {
      const folder = copyOf(source);
      truncateSync(join(folder, FILE), PAGE_BYTES * (source === stopped ? 20 : 1));
      await expectRefused(folder, "TG_STORE_CORRUPT", FILE);
    }
  });

  test("if the file is missing and only the log exists", async () => {
    const folder = copyOf(killed);
    rmSync(join(folder, FILE));
    await expectRefused(folder, "TG_STORE_CORRUPT", FILE);
  });

  test("if the file belongs to another application", async () => {
    const folder = mkdtempSync(join(root, "foreign-"));
    const foreign = new DatabaseSync(join(folder, FILE));
    foreign.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    foreign.close();
    await expectRefused(folder, "TG_STORE_CORRUPT", FILE);
  });

  test("if a newer version wrote the file", async () => {
    const folder = copyOf(stopped);
    const newer = new DatabaseSync(join(folder, FILE));
    newer.exec("PRAGMA user_version = 99");
    newer.close();
    await expectRefused(folder, "TG_STORE_NEWER", FILE);
  });

  test("if the header of the log is damaged", async () => {
    const folder = copyOf(killed);
    flip(folder, LOG, 20);
    await expectRefused(folder, "TG_STORE_CORRUPT", LOG);
  });

  test("if a commit in the log is damaged and others follow it", async () => {
    const folder = copyOf(killed);
    flip(folder, LOG, 32 + FRAME_BYTES + 500);
    await expectRefused(folder, "TG_STORE_CORRUPT", LOG);
  });
});

describe("a flipped bit", () => {
  test("anywhere in the file is refused at load, detected when the message is read, or harmless", async () => {
    const intact = createSqliteBrokerStore({ folder: copyOf(stopped) });
    const expected = loadAll(intact);
    const bodies = expected.messages.map(({ seq }) => intact.read(seq));
    await intact.close();
    const sizeBytes = readFileSync(join(stopped, FILE)).length;
    const counts = { refused: 0, atRead: 0, harmless: 0 };
    for (let at = 0; at < sizeBytes; at += at < 120 ? 3 : FLIP_STRIDE) {
      const folder = copyOf(stopped);
      flip(folder, FILE, at);
      const before = hashes(folder);
      const store = createSqliteBrokerStore({ folder });
      let verdict: keyof typeof counts = "harmless";
      try {
        expect(loadAll(store), `bit at ${at}`).toEqual(expected);
        for (const [index, { seq }] of expected.messages.entries()) {
          const content = readOrDamage(() => store.read(seq));
          if (content === "damaged") verdict = "atRead";
          else expect(content, `bit at ${at}`).toEqual(bodies[index]);
        }
      } catch (error) {
        if (!(error instanceof TidegateError)) throw error;
        expect(error.code, `bit at ${at}`).toMatch(/TG_STORE_(CORRUPT|NEWER)/);
        expect(hashes(folder), `bit at ${at}`).toEqual(before);
        verdict = "refused";
      }
      await store.close();
      counts[verdict] += 1;
      rmSync(folder, { recursive: true });
    }
    expect(counts.refused).toBeGreaterThan(0);
    expect(counts.atRead).toBeGreaterThan(0);
  });
});

describe("a flipped bit in the log", () => {
  test("is refused, or loses at most the last commit, which a crash could also tear", async () => {
    const sizeBytes = readFileSync(join(killed, LOG)).length;
    const lastCommitAt = (COMMITS - 1) / COMMITS;
    const counts = { refused: 0, torn: 0 };
    for (let at = 0; at < sizeBytes; at += at % FRAME_BYTES < 64 ? HEADER_STRIDE : FLIP_STRIDE) {
      const folder = copyOf(killed);
      flip(folder, LOG, at);
      const before = hashes(folder);
      const store = createSqliteBrokerStore({ folder });
      try {
        const { messages, sequence } = loadAll(store);
        expect([messages.length, sequence], `bit at ${at}`).toBeOneOf([
          [COMMITS * 40, COMMITS * 40],
          [(COMMITS - 1) * 40, (COMMITS - 1) * 40],
        ]);
        expect(at / sizeBytes, `bit at ${at}`).toBeGreaterThan(lastCommitAt - 0.1);
        counts.torn += 1;
      } catch (error) {
        if (!(error instanceof TidegateError)) throw error;
        expect(error.code, `bit at ${at}`).toBe("TG_STORE_CORRUPT");
        expect(hashes(folder), `bit at ${at}`).toEqual(before);
        counts.refused += 1;
      }
      await store.close();
      rmSync(folder, { recursive: true });
    }
    expect(counts.refused).toBeGreaterThan(counts.torn);
  });
});

function readOrDamage<T>(read: () => T): T | "damaged" {
  try {
    return read();
  } catch (error) {
    if (error instanceof TidegateError && error.code === "TG_STORE_CORRUPT") return "damaged";
    throw error;
  }
}

test("a cloud with one damaged message delivers all others", async () => {
  const folder = mkdtempSync(join(root, "cloud-"));
  const send = (cloud: Cloud, body: string) =>
    cloud.broker.submit("send", { queue: "q", entries: [entry(body)], batch: true });
  const first = await startCloud({ data: folder });
  await first.broker.submit("createQueue", { name: "q", attributes: {}, tags: {} });
  for (const body of ["one", "two", "three"]) await send(first, body.repeat(50));
  await first.close();
  flip(folder, FILE, readFileSync(join(folder, FILE)).indexOf("one".repeat(50)));
  await using cloud = await startCloud({ data: folder });
  const receive = () => cloud.broker.submit("receive", receiveInput("q", { max: 1 }));
  await expect(receive()).rejects.toMatchObject({ code: "TG_STORE_CORRUPT" });
  await send(cloud, "four");
  for (const body of ["two".repeat(50), "three".repeat(50), "four"]) {
    expect(await receive()).toMatchObject({ value: { deliveries: [{ body }] } });
  }
});

test("a log that wrapped around is not damage, although old commits follow the new ones in it", async () => {
  const folder = mkdtempSync(join(root, "round-"));
  const store = createSqliteBrokerStore({ folder });
  loadAll(store);
  const body = "x".repeat(900_000);
  const copies: string[] = [];
  for (let seq = 1; seq <= 30; seq += 1) {
    await store.commit([message(seq, { body }), { kind: "set-sequence", seq }]);
    if (seq > 16) copies.push(copyOf(folder));
  }
  await store.close();
  for (const [index, copy] of copies.entries()) {
    rmSync(join(copy, "broker.pid"), { force: true });
    const again = createSqliteBrokerStore({ folder: copy });
    expect(loadAll(again).messages).toHaveLength(index + 17);
    await again.close();
    rmSync(copy, { recursive: true });
  }
});
