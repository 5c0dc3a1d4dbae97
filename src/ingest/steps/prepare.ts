// Prepare step: everything before the ledger call of a commit. Bad rows go to the quarantine, the
// message to the archive, and the effects to an idempotent sink, in that order.

import { present } from "../../core/assert.ts";
import { noHash } from "../../core/input-hash.ts";
import type { PrepareStage, Work } from "../stages/prepare.ts";
import { uncommitted } from "./commit.ts";
import type { RecordWork, Step } from "./work.ts";

export function createPrepareStep(prepare: PrepareStage): Step {
  return async (work) => {
    const { record, claim, inFlight } = work;
    const handled = present(work.handled, "the work of a handler");
    const prepared = await prepare(record, claim, workOf(handled), inFlight);
    if (prepared.kind === "prepared") {
      work.prepared = prepared;
      return "next";
    }
    work.committed = prepared;
    return uncommitted(prepared, claim);
  };
}

function workOf(handled: NonNullable<RecordWork["handled"]>): Work {
  if (handled.kind === "dropped") {
    const none = { effects: [], staged: null, digest: null, badRows: [], secrets: [] };
    const input = noHash("not-read");
    return { ...none, input, masked: { kind: "withheld" } }; // F4 of archived-form.ts
  }
  const { kind: _, ...work } = handled;
  return work;
}
