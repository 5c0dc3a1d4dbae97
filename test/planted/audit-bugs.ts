// Planted bugs of audits: each makes an audit say something wrong, and the simulator's checkers
// must notice.

import type { AuditLine } from "../../src/audit/audit-line.ts";
import { emptyQueue } from "../../src/audit/queue-snapshot.ts";
import { type AuditOptions, type AuditPorts, runAudit } from "../../src/audit/run-audit.ts";
import { days } from "../../src/core/units.ts";
import type { Ledger, ListedRecord } from "../../src/ports/ledger.ts";
import { NO_FAULTS } from "../../src/sim/faults/fault-mix.ts";
import type { WorldParts } from "../../src/sim/world-parts.ts";

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
} as const;

/** Faults in which messages are lost, so that audits have something to find. */
export const LOSSY_MIX = {
  ...NO_FAULTS,
  timeline: { ...NO_FAULTS.timeline, "queue-purge": 3, kill: 2, "queue-down": 1 },
};

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
