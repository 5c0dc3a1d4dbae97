// Sim ledger: the world's one ledger as one process accesses it, over the faulty network.
//   L1. It uses the caller's clock, as real ledgers do (L3 of the port): either as it was when the
//       call was made, or as it is when the call is carried out.
//   L2. A batch may be carried out in part without a response: each record entirely or not at all.
//   L3. A record that a frozen process has locked is busy: a claim says so, any other call fails.
//       The other records of the batch are carried out.
//   L4. Consumers look at the pause every few seconds. If each look were a crash point, worlds
//       would have hardly anything but crashes. So only one in FAULTY_LOOKS uses the network, and
//       none in worlds without pauses.

import { TidegateError } from "../../core/errors.ts";
import { epochMs } from "../../core/units.ts";
import { isHeldFailure } from "../../ingest/late/held-note.ts";
import type {
  ClaimRequest,
  ClaimResult,
  Commit,
  CommitResult,
  DirectCommit,
  DirectResult,
  FailedAttempt,
  FailResult,
  Ledger,
  NoteInput,
} from "../../ports/ledger.ts";
import type { RecordInput } from "../../ports/record.ts";
import type { SinkStore } from "../../ports/sink.ts";
import { archivedIn } from "../../replay/replay-input.ts";
import { hiddenValuesIn } from "../hidden-value.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createProcessTime, type ProcessTime, type StoreCaller } from "./process-time.ts";
import { createCaller, fails, type SimPorts } from "./sim-ports.ts";

export interface SimLedgerOptions {
  readonly service: Service;
  readonly time: "asked" | "done";
  readonly caller: StoreCaller;
  /** Whether looks at the pause use the network (L4). Default: false. */
  readonly remotePauses?: boolean;
}

/** One look of so many may have a fault (L4). */
const FAULTY_LOOKS = 16;

const SERVICE_CODE = "TG_LEDGER_UNAVAILABLE";

export function createSimLedger(
  ports: SimPorts,
  process: SimProcess,
  inner: Ledger,
  options: SimLedgerOptions,
): Ledger {
  const time = createProcessTime(process, options.caller);
  const remote = createRemoteCalls(ports, process, options, time);
  return {
    sinkDialect: inner.sinkDialect,
    leap: () => time.leap(),
    sinkStore: remoteStore(inner, remote),
    ...recordCalls(ports, process, inner, remote),
    ...plainCalls(inner, remote),
    findNote: createNoteReader(inner, remote, options),
    addNotes: (scope, notes) =>
      remote.plain("addNotes", async () => {
        await inner.addNotes(scope, notes);
        for (const note of notes) {
          recordExposed(ports, process.name, note);
          if (note.kind !== "watermark") continue;
          const stored = await inner.findNote(scope, note.kind, note.name);
          const at = { value: note.at, stored: stored?.at ?? note.at };
          ports.history.add(process.name, { kind: "watermark", ...at });
        }
      }),
    close: async () => {},
  };
}

/** Adds the hidden values that the ledger is asked to store. */
function recordExposed(
  { history }: SimPorts,
  actor: string,
  { kind, body }: Pick<NoteInput, "kind" | "body">,
): void {
  for (const value of hiddenValuesIn(body)) {
    // A message that is held has no other copy, and is masked after its release.
    if (value.by === "masked" && kind === "held") continue;
    history.add(actor, { kind: "exposed", ...value, where: "the ledger" });
  }
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
  clock: ProcessTime,
): RemoteCalls {
  const { service, time } = options;
  const call = createCaller(ports, process, service, SERVICE_CODE);
  const as = <T>(askedAt: ReturnType<ProcessTime["read"]>, work: () => Promise<T>) =>
    clock.as(time === "asked" ? askedAt : clock.read(), work); // L1

  return {
    batch(method, items, run, note = () => {}) {
      const askedAt = clock.read();
      const runNoted = async (some: typeof items) => {
        const results = await as(askedAt, () => run(some));
        for (const [at, result] of results.entries()) note(some[at] as (typeof items)[0], result);
        return results;
      };
      const runFree = (some: typeof items) => runUnlocked(ports, process, method, some, runNoted);
      const { holders } = ports;
      const runAll = (some: typeof items) =>
        holders === undefined
          ? runNoted(some)
          : holders.run(process, method, some.map(keyOf), () => runFree(some));
      return call(method, () => runAll(items), {
        runPart: async (word) => {
          const some = items.filter((_, at) => !fails(word, at));
          if (some.length > 0) await runAll(some); // L2
          throw new TidegateError(SERVICE_CODE, `${service.name}: response lost`);
        },
      });
    },
    plain(method, run) {
      const askedAt = clock.read();
      return call(method, () => as(askedAt, run));
    },
  };
}

function keyOf(item: unknown): string {
  return typeof item === "string" ? item : (item as { readonly key: string }).key;
}

const BUSY_CALLS: ReadonlySet<string> = new Set(["claim", "commitDirect"]);
const BUSY_MS = 5_000;

/** Carries out the part of a batch that no frozen process has locked (L3). */
async function runUnlocked<I, O>(
  { holders }: SimPorts,
  process: SimProcess,
  method: string,
  items: readonly I[],
  run: (items: readonly I[]) => Promise<O[]>,
): Promise<O[]> {
  const isLocked = (item: I) => holders?.isLocked(process, keyOf(item)) === true;
  const free = holders?.hasLocks === true ? items.filter((item) => !isLocked(item)) : items;
  if (free.length === items.length) return run(items);
  const results = free.length === 0 ? [] : await run(free);
  if (!BUSY_CALLS.has(method)) {
    throw new TidegateError("TG_LEDGER_BUSY", "ledger: another process holds the records");
  }
  const byItem = new Map(free.map((item, at) => [item, results[at] as O]));
  const until = epochMs(process.clock.now() + BUSY_MS);
  const busy = { kind: "busy", until, owner: "unknown" } as O;
  return items.map((item) => byItem.get(item) ?? busy);
}

/** The calls that change records, all in batches. */
function recordCalls(ports: SimPorts, process: SimProcess, inner: Ledger, { batch }: RemoteCalls) {
  const recorder = createRecorder(ports, process.name);
  const { names } = ports;
  const calls: Pick<
    Ledger,
    "claim" | "renew" | "commit" | "commitDirect" | "fail" | "release" | "reopen" | "hasRecords"
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
    hasRecords: (scope, keys) =>
      batch(
        "hasRecords",
        keys,
        (some) => inner.hasRecords(scope, some),
        (key, exists) => recorder.add({ kind: "checked", name: names.ofKey(key), exists }),
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

/** L4 */
function createNoteReader(
  inner: Ledger,
  { plain }: RemoteCalls,
  { remotePauses = false }: SimLedgerOptions,
): Ledger["findNote"] {
  let looks = 0;
  return async (scope, kind, name) => {
    if (kind !== "paused") return plain("findNote", () => inner.findNote(scope, kind, name));
    looks += 1;
    if (remotePauses && looks % FAULTY_LOOKS === 0) {
      return plain("findPause", () => inner.findNote(scope, kind, name));
    }
    return inner.findNote(scope, kind, name);
  };
}

/** Staging is a call like others: it may fail before or after its effect. */
function remoteStore({ sinkStore }: Ledger, { plain }: RemoteCalls): SinkStore | null {
  if (sinkStore === null) return null;
  return {
    run: (writes) => plain("stage", () => sinkStore.run(writes)),
    read: (write) => plain("readStage", () => sinkStore.read(write)),
  };
}

/** The calls that only read, and maintenance. */
function plainCalls(inner: Ledger, { plain }: RemoteCalls) {
  const calls: Pick<
    Ledger,
    | "show"
    | "searchRecords"
    | "showObject"
    | "listNotes"
    | "removeNotes"
    | "stats"
    | "purge"
    | "check"
    | "listRecords"
    | "putRun"
    | "findRun"
    | "listRuns"
  > = {
    listRecords: (scope, query, page) =>
      plain("listRecords", () => inner.listRecords(scope, query, page)),
    putRun: (scope, run) => plain("putRun", () => inner.putRun(scope, run)),
    findRun: (scope, id) => plain("findRun", () => inner.findRun(scope, id)),
    listRuns: (scope, page) => plain("listRuns", () => inner.listRuns(scope, page)),
    show: (scope, key) => plain("show", () => inner.show(scope, key)),
    searchRecords: (scope, text, limit) =>
      plain("searchRecords", () => inner.searchRecords(scope, text, limit)),
    showObject: (scope, bucket, key) =>
      plain("showObject", () => inner.showObject(scope, bucket, key)),
    listNotes: (scope, kind, page) => plain("listNotes", () => inner.listNotes(scope, kind, page)),
    removeNotes: (scope, kind, names) =>
      plain("removeNotes", () => inner.removeNotes(scope, kind, names)),
    stats: () => plain("stats", () => inner.stats()),
    purge: (limit) => plain("purge", () => inner.purge(limit)),
    check: () => plain("check", () => inner.check()),
  };
  return calls;
}

/** What an input says that its record is, in the words of the workload. */
function eventIn({ object, dedupeKey }: RecordInput): string | null {
  return object === null ? dedupeKey : `${object.key} ${object.sequencer}`;
}

/** Adds the ledger's decisions to the history. */
function createRecorder(ports: SimPorts, actor: string) {
  const { history, names } = ports;
  const add: (event: Parameters<typeof history.add>[1]) => void = (event) =>
    history.add(actor, event);
  const refused = (name: string, why: string) => add({ kind: "refused", name, why });
  return {
    add,
    claimed({ key, input }: ClaimRequest, result: ClaimResult): void {
      const name = names.ofKey(key);
      if (result.kind !== "claimed") refused(name, result.kind);
      else {
        const { fence, attempt, lane, eventTime } = result;
        add({ kind: "claimed", name, fence, attempt, lane, eventTime, input: eventIn(input) });
      }
    },
    committed({ key, fence, effects }: Commit, result: CommitResult): void {
      const name = names.ofKey(key);
      if (result.kind === "fenced" || result.kind === "unconfirmed") refused(name, result.kind);
      else {
        const superseded = result.kind === "superseded";
        const archived = archivedIn(effects ?? null);
        add({ kind: "committed", name, fence, superseded, direct: false, archived });
      }
    },
    direct({ key, input, effects }: DirectCommit, result: DirectResult): void {
      const name = names.ofKey(key);
      if (result.kind !== "committed") refused(name, result.kind);
      else {
        const { fence } = result;
        const archived = archivedIn(effects ?? null);
        const details = { fence, superseded: false, direct: true, input: eventIn(input), archived };
        add({ kind: "committed", name, ...details, eventTime: input.eventTime });
      }
    },
    failed({ key, note, failure }: FailedAttempt & { note?: NoteInput }, result: FailResult): void {
      const name = names.ofKey(key);
      if (result.kind === "fenced") refused(name, result.kind);
      else {
        const { kind, attempts } = result;
        const details = { name, attempts, why: failure.message };
        if (note !== undefined) recordExposed(ports, actor, note);
        if (kind === "failed") add({ kind, ...details });
        else if (isHeldFailure(failure)) {
          const { to } = JSON.parse(note?.body ?? "{}") as { to?: string | null };
          add({ kind: "held", name, attempts, to: typeof to === "string" ? "queue" : "ledger" });
        } else add({ kind, ...details, dossier: note?.kind === "dossier" });
      }
    },
  };
}
