// Planted bugs of audits: each makes an audit say something wrong, and the simulator's checkers
// must notice.

import type { AuditLine } from "../../src/audit/audit-line.ts";
import { emptyQueue } from "../../src/audit/queue-snapshot.ts";
import { type AuditOptions, type AuditPorts, runAudit } from "../../src/audit/run-audit.ts";
import { days } from "../../src/core/units.ts";
import type { Ledger, ListedRecord } from "../../src/ports/ledger.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import type { Topology } from "../../src/sim/topology.ts";
import type { WorldParts } from "../../src/sim/world-parts.ts";
import { createMemoryLedger } from "../../src/stores/memory/ledger.ts";
import { LISTING_FLAWS } from "./listing-bugs.ts";

/** Worlds with audits beside live traffic. */
export const AUDIT_TOPOLOGY = {
  contents: "objects",
  fifo: false,
  own: false,
  objectsSink: false,
  batches: 0,
  events: 80,
  groups: 24,
  audits: 6,
  lateEvents: 0,
  late: "process",
  refused: 0,
} as const;

/** Worlds in which backfills find objects before their notifications, too. */
export const AUDIT_BACKFILL_TOPOLOGY = {
  ...AUDIT_TOPOLOGY,
  groups: 8,
  backfills: 6,
  delayed: 0.3,
} as const;

/** Faults in which messages are lost, so that audits have something to find. */
export const LOSSY_MIX = {
  ...NO_FAULTS,
  timeline: { ...NO_FAULTS.timeline, "queue-purge": 3, kill: 2, "queue-down": 1 },
};

/** A world with a mistake that its audits have to report. */
interface MistakenWorld {
  readonly parts: Partial<WorldParts>;
  readonly topology: Partial<Topology>;
  readonly timeline: Partial<typeof NO_FAULTS.timeline>;
  /** What a correct audit reports in it. */
  readonly status: "orphan" | "double";
  /** An audit that does not see it, which audit-sees-loss must report. */
  readonly flaw: Partial<WorldParts>;
  /** The first seed that shows both. */
  readonly seed: number;
}

interface AuditFlaw {
  readonly parts: Partial<WorldParts>;
  readonly symptom: string;
}

/** An audit with other ports, options or lines. */
function flawed(change: {
  readonly ports?: (ports: AuditPorts) => Partial<AuditPorts>;
  readonly options?: (options: AuditOptions) => Partial<AuditOptions>;
  readonly line?: (line: AuditLine) => AuditLine | null;
}): Partial<WorldParts> {
  const { ports: alter = () => ({}), options: set = () => ({}), line: say = (one) => one } = change;
  return {
    runAudit: (ports, options, onLine, signal, onProgress) =>
      runAudit(
        { ...ports, ...alter(ports) },
        { ...options, ...set(options) },
        (line) => {
          const said = say(line);
          if (said !== null) onLine(said);
        },
        signal,
        onProgress,
      ),
  };
}

function withRecords(ledger: Ledger, change: (record: ListedRecord) => ListedRecord): Ledger {
  return {
    ...ledger,
    async listRecords(...call) {
      const page = await ledger.listRecords(...call);
      return { ...page, records: page.records.map(change) };
    },
  };
}

export const AUDIT_FLAWS: Readonly<Record<string, AuditFlaw>> = {
  "the queue is not read, so that what is queued is missing": {
    parts: flawed({
      ports: ({ clock }) => ({ readQueue: async () => emptyQueue(clock.now(), "exact") }),
      options: () => ({ graceMs: 0 as AuditOptions["graceMs"] }),
    }),
    symptom: "audit-no-false-alarm",
  },
  "an object without a record waits without end": {
    parts: flawed({ options: () => ({ graceMs: days(1) }) }),
    symptom: "audit-sees-loss",
  },
  "one page of the bucket is skipped": {
    parts: flawed({
      ports: ({ lister }) => ({
        lister: {
          async list(request, signal) {
            const page = await lister.list(request, signal);
            return request.after === null && request.prefix === "" && page.next !== null
              ? { ...page, objects: [] }
              : page;
          },
        },
      }),
    }),
    symptom: "audit-sees-loss",
  },
  "a record that failed counts as committed": {
    parts: flawed({
      ports: ({ ledger }) => ({
        effects: [], // The sink would contradict, and the object would be missing.
        ledger: withRecords(ledger, (listed) => {
          const { record } = listed;
          if (record.kind === "committed") return listed;
          const { fence, attempts, seenAt, changedAt, expiresAt } = record;
          const fields = { fence, attempts, seenAt, changedAt, expiresAt };
          const committed = { digest: "", effects: null, superseded: false } as const;
          return { ...listed, record: { kind: "committed", ...fields, ...committed } };
        }),
      }),
    }),
    symptom: "audit-sees-loss",
  },
  "every object with any record is missing, unless it is the newest": {
    parts: flawed({
      line: (line) => (line.status === "in-flight" ? { ...line, status: "missing" } : line),
    }),
    symptom: "audit-no-false-alarm",
  },
};

/** A ledger whose purge forgets committed records long before their retention ends. */
function createForgetfulLedger(...call: Parameters<typeof createMemoryLedger>): Ledger {
  const ledger = createMemoryLedger(...call);
  const committed = new Set<string>();
  const forgotten = new Set<string>();
  const noted = <R extends { readonly kind: string }>(
    commits: readonly { readonly key: string }[],
    results: R[],
  ): R[] => {
    for (const [at, { key }] of commits.entries()) {
      if (results[at]?.kind === "committed") committed.add(key);
    }
    return results;
  };
  return {
    ...ledger,
    commit: async (scope, commits) => noted(commits, await ledger.commit(scope, commits)),
    commitDirect: async (scope, commits) =>
      noted(commits, await ledger.commitDirect(scope, commits)),
    async purge(limit) {
      for (const key of committed) forgotten.add(key);
      return await ledger.purge(limit);
    },
    async listRecords(...list) {
      const page = await ledger.listRecords(...list);
      return { ...page, records: page.records.filter(({ key }) => !forgotten.has(key)) };
    },
    show: async (scope, key) => (forgotten.has(key) ? undefined : await ledger.show(scope, key)),
    async hasRecords(scope, keys) {
      const has = await ledger.hasRecords(scope, keys);
      return has.map((one, at) => one && !forgotten.has(keys[at] ?? ""));
    },
  };
}

export const MISTAKEN_WORLDS: Readonly<Record<string, MistakenWorld>> = {
  "the ledger forgets records whose effects are in the sink": {
    parts: { createLedger: createForgetfulLedger },
    topology: AUDIT_TOPOLOGY,
    timeline: { "ledger-purge": 6 },
    status: "orphan",
    flaw: flawed({ ports: () => ({ effects: [] }) }),
    seed: 1,
  },
  "a backfill and an event both apply one version": {
    parts: LISTING_FLAWS["a listed state is committed without being ordered"]?.parts ?? {},
    topology: { ...AUDIT_BACKFILL_TOPOLOGY, versioned: true, sink: "transactional" },
    timeline: {},
    status: "double",
    flaw: flawed({
      line: (line) => (line.status === "double" ? { ...line, status: "committed" } : line),
    }),
    seed: 1,
  },
};
