// Gentle ledger: a ledger for long reads in the background, beside a pipeline in the same process.
//   G1. A SQLite file is read by the thread that also runs the pipeline. So after SLICE_MS of reads
//       the reader sleeps REST times as long, and handlers run meanwhile.
//   G2. Reads of other stores wait for a server, not for this thread, so they are not slowed.

import { durationMs } from "../../core/units.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Ledger } from "../../ports/ledger.ts";

export type ReadLedger = Pick<
  Ledger,
  "show" | "showObject" | "findNote" | "listNotes" | "listRecords" | "listRuns" | "findRun"
>;

const SLICE_MS = 4;
const REST = 9;

export function createGentleLedger(clock: Clock, ledger: Ledger): Ledger {
  if (ledger.sinkDialect !== "sqlite") return ledger; // G2
  let busyMs = 0;
  let resting: Promise<void> | null = null;

  function gentle<A extends unknown[], R>(read: (...given: A) => Promise<R>) {
    return async (...given: A): Promise<R> => {
      if (busyMs >= SLICE_MS) {
        resting ??= clock.sleep(durationMs(Math.ceil(busyMs * REST)));
        busyMs = 0;
      }
      if (resting !== null) {
        await resting; // G1
        resting = null;
      }
      const startedAt = clock.monotonic();
      const result = await read(...given);
      busyMs += clock.monotonic() - startedAt;
      return result;
    };
  }

  const reads: ReadLedger = {
    show: gentle((scope, key) => ledger.show(scope, key)),
    showObject: gentle((scope, bucket, key) => ledger.showObject(scope, bucket, key)),
    findNote: gentle((scope, kind, name) => ledger.findNote(scope, kind, name)),
    listNotes: gentle((scope, kind, page) => ledger.listNotes(scope, kind, page)),
    listRecords: gentle((scope, query, page) => ledger.listRecords(scope, query, page)),
    listRuns: gentle((scope, page) => ledger.listRuns(scope, page)),
    findRun: gentle((scope, id) => ledger.findRun(scope, id)),
  };
  return new Proxy(ledger, {
    get(target, name) {
      if (Object.hasOwn(reads, name)) return reads[name as keyof ReadLedger];
      return Reflect.get(target, name, target);
    },
  });
}
