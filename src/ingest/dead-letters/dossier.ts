// Dossier: all that is known of a record that was given up on, as the ledger keeps it beside the
// record. The names are part of what `tidegate dlq --json` prints.
//   F1. A dossier is written in the same step that parks its record: there is never one without
//       the other.
//   F2. Everything in it has been masked; the one unmasked copy of a payload is the message itself.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { clampText } from "../../core/encoding/text.ts";
import type { EpochMs } from "../../core/units.ts";

export interface Dossier {
  readonly pipeline: string;
  readonly generation: number;
  /** The key in the ledger; `idempotency_key` is the same for all pipelines. */
  readonly record_key: string;
  readonly idempotency_key: string;
  readonly queue: string;
  readonly message_id: string;
  readonly group_id: string | null;
  readonly object: { readonly bucket: string; readonly key: string } | null;
  /** By which whoever knows the object's key finds the dossier although it is masked. */
  readonly object_digest?: string | null;
  readonly error_class: string;
  readonly fingerprint: string;
  readonly message: string;
  readonly stack: string | null;
  readonly attempts: number;
  readonly receive_count: number;
  readonly event_time: EpochMs;
  readonly first_failed_at: EpochMs;
  readonly last_failed_at: EpochMs;
  /** How long the last attempt ran. */
  readonly took_ms: number;
  readonly run_id: string;
  readonly trace_id: string | null;
  /** Masked, and shortened if it was long. */
  readonly payload: JsonValue;
  /** Null until the dead letter is in its queue; for ever where the message waits in its own. */
  readonly dead_letter: {
    readonly queue: string;
    readonly message_id: string;
    readonly sent_at: EpochMs;
    /** Of the failure that it tells of. */
    readonly fence: number;
    /** It carries no word of ours, as there was no room for any. */
    readonly bare?: boolean;
    /** Of a bare one: it was not sent before this moment, by the clock of the queue. */
    readonly not_before?: EpochMs;
  } | null;
}

const PAYLOAD_CHARS_MAX = 32_768;
const STACK_CHARS_MAX = 8_192;

export function encodeDossier(dossier: Dossier): string {
  const { payload, stack } = dossier;
  const text = JSON.stringify(payload);
  const short = text.length <= PAYLOAD_CHARS_MAX ? payload : clampText(text, PAYLOAD_CHARS_MAX);
  const trace = stack === null ? null : clampText(stack, STACK_CHARS_MAX);
  return JSON.stringify({ ...dossier, payload: short, stack: trace });
}

export function decodeDossier(body: string): Dossier {
  return JSON.parse(body) as JsonObject as unknown as Dossier;
}
