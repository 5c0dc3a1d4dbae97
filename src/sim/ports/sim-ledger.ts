// Sim ledger: the world's one ledger as one process accesses it, over the faulty network.
//   L1. It uses the caller's clock, as real ledgers do (L3 of the port): either as it was when the
//       call was made, or as it is when the call is carried out.
//   L2. A batch may be carried out in part without a response: each record entirely or not at all.

import { TidegateError } from "../../core/errors.ts";
import { epochMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type {
  ClaimResult,
  CommitResult,
  DirectResult,
  FailedAttempt,
  FailResult,
  Ledger,
  NoteInput,
} from "../../ports/ledger.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Scheduler } from "../scheduler.ts";
import type { Service } from "./network.ts";
import { createCaller, fails, type SimPorts } from "./sim-ports.ts";

/** The current caller of the ledger, and the time on its clock. */
export interface LedgerCaller {
  actor: string;
  now: number | null;
}

/** The clock that the ledger uses (L1). */
export function ledgerClock(scheduler: Scheduler, caller: LedgerCaller): Clock {
  const idle: Clock["sleep"] = () => new Promise(() => {});
  const now = () => epochMs(caller.now ?? scheduler.now);
  return { now, monotonic: () => now() as never, sleep: idle };
}

export interface SimLedgerOptions {
  readonly service: Service;
  readonly time: "asked" | "done";
  readonly caller: LedgerCaller;
}

const SERVICE_CODE = "TG_LEDGER_UNAVAILABLE";

export function createSimLedger(
  ports: SimPorts,
  process: SimProcess,
  inner: Ledger,
  options: SimLedgerOptions,
): Ledger {
  const remote = createRemoteCalls(ports, process, options);
  return {
    sinkDialect: inner.sinkDialect,
    ...recordCalls(ports, process, inner, remote),
    ...plainCalls(inner, remote),
    addNotes: (scope, notes) =>
      remote.plain("addNotes", async () => {
        await inner.addNotes(scope, notes);
        for (const note of notes) {
          if (note.kind !== "watermark") continue;
          const stored = await inner.findNote(scope, note.kind, note.name);
          const at = { value: note.at, stored: stored?.at ?? note.at };
          ports.history.add(process.name, { kind: "watermark", ...at });
        }
      }),
    close: async () => {},
  };
}

interface RemoteCalls {
  batch<I, O>(
    method: string,
    items: readonly I[],
    run: (items: readonly I[]) => Promise<O[]>,
    note?: (item: I, result: O) => void,
  ): Promise<O[]>;
  plain<T>(method: string, run: () => Promise<T>): Promise<T>;
}

function createRemoteCalls(
  ports: SimPorts,
  process: SimProcess,
  options: SimLedgerOptions,
): RemoteCalls {
  const { service, time, caller } = options;
  const call = createCaller(ports, process, service, SERVICE_CODE);

  /** Runs `work` under the caller's clock; the memory ledger acts before it first waits. */
  function as<T>(askedAt: number, work: () => Promise<T>): Promise<T> {
    caller.actor = process.name;
    caller.now = time === "asked" ? askedAt : process.clock.now(); // L1
    try {
      return work();
    } finally {
      caller.now = null;
    }
  }

  return {
    batch(method, items, run, note = () => {}) {
      const askedAt = process.clock.now();
      const runAll = async (some: typeof items) => {
        const results = await as(askedAt, () => run(some));
        for (const [at, result] of results.entries()) note(some[at] as (typeof items)[0], result);
        return results;
      };
      return call(method, () => runAll(items), {
        runPart: async (word) => {
          const some = items.filter((_, at) => !fails(word, at));
          if (some.length > 0) await runAll(some); // L2
          throw new TidegateError(SERVICE_CODE, `${service.name}: response lost`);
        },
      });
    },
    plain(method, run) {
      const askedAt = process.clock.now();
      return call(method, () => as(askedAt, run));
    },
  };
}

/** The calls that change records, all in batches. */
function recordCalls(ports: SimPorts, process: SimProcess, inner: Ledger, { batch }: RemoteCalls) {
  const recorder = createRecorder(ports, process.name);
  const { names } = ports;
  const calls: Pick<
    Ledger,
    "claim" | "renew" | "commit" | "commitDirect" | "fail" | "release" | "reopen"
  > = {
    claim: (scope, requests, lease) =>
      batch("claim", requests, (some) => inner.claim(scope, some, lease), recorder.claimed),
    renew: (scope, held, leaseMs) =>
      batch("renew", held, (some) => inner.renew(scope, some, leaseMs)),
    commit: (scope, commits) =>
      batch("commit", commits, (some) => inner.commit(scope, some), recorder.committed),
    commitDirect: (scope, commits) =>
      batch("commitDirect", commits, (some) => inner.commitDirect(scope, some), recorder.direct),
    fail: (scope, attempts) =>
      batch("fail", attempts, (some) => inner.fail(scope, some), recorder.failed),
    release: (scope, held) =>
      batch(
        "release",
        held,
        (some) => inner.release(scope, some),
        ({ key }, { kind }) => {
          if (kind === "released") recorder.add({ kind, name: names.ofKey(key) });
        },
      ),
    reopen: (scope, keys) =>
      batch(
        "reopen",
        keys,
        (some) => inner.reopen(scope, some),
        (key, { kind }) => {
          if (kind === "reopened") recorder.add({ kind, name: names.ofKey(key) });
        },
      ),
  };
  return calls;
}

/** The calls that only read, and maintenance. */
function plainCalls(inner: Ledger, { plain }: RemoteCalls) {
  const calls: Pick<
    Ledger,
    "show" | "showObject" | "findNote" | "listNotes" | "removeNotes" | "stats" | "purge" | "check"
  > = {
    show: (scope, key) => plain("show", () => inner.show(scope, key)),
    showObject: (scope, bucket, key) =>
      plain("showObject", () => inner.showObject(scope, bucket, key)),
    findNote: (scope, kind, name) => plain("findNote", () => inner.findNote(scope, kind, name)),
    listNotes: (scope, kind, page) => plain("listNotes", () => inner.listNotes(scope, kind, page)),
    removeNotes: (scope, kind, names) =>
      plain("removeNotes", () => inner.removeNotes(scope, kind, names)),
    stats: () => plain("stats", () => inner.stats()),
    purge: (limit) => plain("purge", () => inner.purge(limit)),
    check: () => plain("check", () => inner.check()),
  };
  return calls;
}

/** Adds the ledger's decisions to the history. */
function createRecorder({ history, names }: SimPorts, actor: string) {
  const add: (event: Parameters<typeof history.add>[1]) => void = (event) =>
    history.add(actor, event);
  const refused = (name: string, why: string) => add({ kind: "refused", name, why });
  return {
    add,
    claimed({ key }: { key: string }, result: ClaimResult): void {
      const name = names.ofKey(key);
      if (result.kind !== "claimed") refused(name, result.kind);
      else {
        const { fence, attempt } = result;
        add({ kind: "claimed", name, fence, attempt });
      }
    },
    committed({ key, fence }: { key: string; fence: number }, result: CommitResult): void {
      const name = names.ofKey(key);
      if (result.kind === "fenced") refused(name, result.kind);
      else {
        const superseded = result.kind === "superseded";
        add({ kind: "committed", name, fence, superseded, direct: false });
      }
    },
    direct({ key }: { key: string }, result: DirectResult): void {
      const name = names.ofKey(key);
      if (result.kind !== "committed") refused(name, result.kind);
      else {
        const { fence } = result;
        add({ kind: "committed", name, fence, superseded: false, direct: true });
      }
    },
    failed({ key, note, failure }: FailedAttempt & { note?: NoteInput }, result: FailResult): void {
      const name = names.ofKey(key);
      if (result.kind === "fenced") refused(name, result.kind);
      else {
        const { kind, attempts } = result;
        const details = { name, attempts, why: failure.message };
        if (kind === "failed") add({ kind, ...details });
        else add({ kind, ...details, dossier: note?.kind === "dossier" });
      }
    },
  };
}
