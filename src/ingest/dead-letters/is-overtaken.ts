// Is overtaken: whether a newer event of an object was applied, so that an older one never is.

import { compareSequencers } from "../../core/events/sequencer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { LedgerScope } from "../../ports/record.ts";

/** The object of a record, as far as the order of its events needs it. */
export interface OrderedObject {
  readonly bucket: string;
  readonly key: string;
  readonly sequencer: string | null;
}

export async function isOvertaken(
  ledger: Ledger,
  scope: LedgerScope,
  object: OrderedObject | null,
): Promise<boolean> {
  if (object === null || object.sequencer === null) return false;
  const state = await ledger.showObject(scope, object.bucket, object.key);
  return state !== undefined && compareSequencers(object.sequencer, state.sequencer) < 0;
}
