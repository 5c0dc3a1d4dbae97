// Freezes a process inside a transaction with SIGSTOP. Its connection and its locks stay, unlike
// those of a killed process. The other processes must continue.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { describe, expect, test } from "vitest";
import { durationMs, seconds } from "../../src/core/units.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { ClaimResult, Ledger } from "../../src/ports/ledger.ts";
import type { RecordKey } from "../../src/ports/record.ts";
import { createPostgresLedger } from "../../src/stores/postgres/ledger.ts";
import { createSqliteLedger } from "../../src/stores/sqlite/ledger/ledger.ts";
import { ANY_INPUT } from "../support/stores/any-input.ts";
import { queryPostgres, usePostgres } from "../support/stores/database-servers.ts";
import { systemClock as clock, turn } from "../support/stores/real-ports.ts";
import { useTemporaryFolder } from "../support/temporary-folder.ts";
import { FROZEN_KEY, FROZEN_OBJECT, FROZEN_SCOPE, PAUSE_LOCK } from "./frozen-worker.ts";

const WORKER = new URL("./frozen-worker.ts", import.meta.url).pathname;
const { available, freshUrl } = await usePostgres();
const folder = useTemporaryFolder("frozen");
const LEASE = { owner: "healthy", leaseMs: seconds(60) };
const OTHERS = 50;
const ROUNDS = 5;
const LOOKS_MAX = 200;
const LOOK_MS = 100;

type Child = ChildProcessByStdio<Writable, Readable, null>;

class Worker implements AsyncDisposable {
  readonly #child: Child;
  readonly #lines: AsyncIterator<string>;

  constructor(store: "postgres" | "sqlite", where: string) {
    this.#child = spawn(process.execPath, [WORKER, store, where], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** The next line that it prints. */
  async line(): Promise<string> {
    return (await this.#lines.next()).value;
  }

  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
    this.#child.stdin.end();
  }

  async [Symbol.asyncDispose]() {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }
}

async function eventually(what: string, look: () => Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    if (await look()) return;
    await sleep(LOOK_MS);
  }
  throw new Error(`did not happen: ${what}`);
}

const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
const waiters = async (url: string) => (await queryPostgres(url, waiting)).length;

/** A worker that is frozen inside the transaction of its commit. */
async function frozenInCommit(url: string): Promise<Worker> {
  const pause = new pg.Client(url);
  await pause.connect();
  try {
    await pause.query("SELECT pg_advisory_lock($1)", [PAUSE_LOCK]);
    const worker = new Worker("postgres", url);
    expect(await worker.line()).toBe("holding");
    await eventually("the worker waits in its transaction", async () => (await waiters(url)) > 0);
    worker.freeze();
    return worker;
  } finally {
    await pause.end();
  }
}

const keysOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => asRecordKey(`k1:${name}-${n}`));

function claimAll(ledger: Ledger, keys: readonly RecordKey[]): Promise<ClaimResult[]> {
  const requests = keys.map((key) => ({ key, input: ANY_INPUT, receivedAt: clock.now() }));
  return ledger.claim(FROZEN_SCOPE, requests, LEASE);
}

/** The commits of the records that were claimed. */
function commitsOf(keys: readonly RecordKey[], claims: readonly ClaimResult[]) {
  return keys.flatMap((key, at) => {
    const claim = claims[at];
    return claim?.kind === "claimed" ? [{ key, fence: claim.fence, digest: "d" }] : [];
  });
}

describe.skipIf(!available)("a process that is frozen inside a PostgreSQL transaction", () => {
  async function open() {
    const url = await freshUrl();
    const ledger = await createPostgresLedger({ clock }, { url });
    // The tables and the object exist, so that the worker locks the row of the object.
    const times = { input: ANY_INPUT, receivedAt: clock.now(), startedAt: clock.now() };
    const first = { key: asRecordKey("k1:first"), owner: "w", ...times, digest: "d" };
    const object = { ...FROZEN_OBJECT, sequencer: "01" };
    await ledger.commitDirect(FROZEN_SCOPE, [{ ...first, object }]);
    return { url, ledger };
  }

  test("stops no other record, and its own is claimable soon; thawed, it is fenced", async () => {
    const { url, ledger } = await open();
    await using worker = await frozenInCommit(url);
    let most = 0;
    const claims: ClaimResult[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const keys = keysOf(`round-${round}`, OTHERS / ROUNDS);
      const claiming = claimAll(ledger, [FROZEN_KEY, ...keys]);
      most = Math.max(most, await waiters(url));
      const [own, ...others] = await claiming;
      if (own !== undefined) claims.push(own);
      const commits = commitsOf(keys, others);
      expect(commits.map(({ key }) => key)).toEqual(keys);
      const committed = await ledger.commit(FROZEN_SCOPE, commits);
      expect(committed.every(({ kind }) => kind === "committed")).toBe(true);
    }
    expect(claims[0]?.kind).toBe("busy");
    await eventually("its record is claimed", async () => {
      claims.push(...(await claimAll(ledger, [FROZEN_KEY])));
      return claims.some(({ kind }) => kind === "claimed");
    });
    expect(most).toBeLessThanOrEqual(2);
    expect(await waiters(url)).toBe(0);
    worker.thaw();
    expect(await worker.line()).toBe("fenced");
    const commits = claims.flatMap((claim) => commitsOf([FROZEN_KEY], [claim]));
    expect(await ledger.commit(FROZEN_SCOPE, commits)).toEqual([{ kind: "committed" }]);
    await ledger.close();
  });

  test("delays a commit that needs its lock, and does not fail it", async () => {
    const { url, ledger } = await open();
    const keys = keysOf("same-object", 2);
    const [commit, other] = commitsOf(keys, await claimAll(ledger, keys));
    if (commit === undefined || other === undefined) throw new Error("not claimed");
    await using _worker = await frozenInCommit(url);
    const object = { ...FROZEN_OBJECT, sequencer: "03" };
    const results = await ledger.commit(FROZEN_SCOPE, [{ ...commit, object }, other]);
    expect(results).toEqual([{ kind: "committed" }, { kind: "committed" }]);
    await ledger.close();
  });

  test("leaves a bounded number of backends that wait for it", async () => {
    const { url, ledger } = await open();
    await using _worker = await frozenInCommit(url);
    const counts: number[] = [];
    let done = false;
    const watching = (async () => {
      while (!done) counts.push(await waiters(url));
    })();
    // Each of these processes has its own pool, and asks again as soon as it is refused.
    const ledgers = await Promise.all(
      Array.from({ length: 3 }, () => createPostgresLedger({ clock }, { url, connectionsMax: 2 })),
    );
    const asking = ledgers.map((each) =>
      eventually("its record is refused or claimed", async () =>
        (await claimAll(each, [FROZEN_KEY])).some(({ kind, ...more }) =>
          kind === "busy" ? "owner" in more && more.owner === LEASE.owner : true,
        ),
      ),
    );
    await Promise.all(asking).finally(() => {
      done = true;
    });
    await watching;
    expect(Math.max(...counts)).toBeLessThanOrEqual(3);
    await eventually("no backend waits", async () => (await waiters(url)) === 0);
    await Promise.all([ledger, ...ledgers].map((each) => each.close()));
  });
});

test("a process that is frozen with SQLite's write lock makes the ledger unavailable, not corrupt", async () => {
  const path = join(folder, "ledger.db");
  const ledger = createSqliteLedger({ clock, turn }, { path, busyMs: durationMs(200) });
  const [first, second] = [keysOf("first", 3), keysOf("second", 3)];
  const commits = commitsOf(first, await claimAll(ledger, first));
  await using worker = new Worker("sqlite", path);
  expect(await worker.line()).toBe("holding");
  worker.freeze();
  const unavailable = {
    code: "TG_LEDGER_UNAVAILABLE",
    retry: "later",
    message: expect.stringContaining("another process holds its write lock"),
  };
  await expect(ledger.commit(FROZEN_SCOPE, commits)).rejects.toMatchObject(unavailable);
  await expect(claimAll(ledger, second)).rejects.toMatchObject(unavailable);
  // Reads need no lock.
  expect((await ledger.show(FROZEN_SCOPE, first[0] ?? FROZEN_KEY))?.record.kind).toBe("claimed");
  worker.thaw();
  expect(await worker.line()).toBe("committed");
  const committed = await ledger.commit(FROZEN_SCOPE, commits);
  expect(committed.map(({ kind }) => kind)).toEqual(["committed", "committed", "committed"]);
  expect((await claimAll(ledger, second)).every(({ kind }) => kind === "claimed")).toBe(true);
  await ledger.close();
});
