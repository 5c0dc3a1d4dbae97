// Dossier: the failure report of a dead-lettered record. The ledger stores it next to the record.
// `tidegate dlq --json` prints it, so its field names are public.
//   F1. The ledger writes a dossier in the same step that parks its record: neither exists without
//       the other.
//   F2. Everything in a dossier is masked. The only unmasked copy of a payload is the message.
//   F3. The payload of a record that governance refused is in neither of them.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { clampText } from "../../core/encoding/text.ts";
import type { EpochMs } from "../../core/units.ts";

/** The failure report of a dead letter. Masks apply to every field. */
export interface Dossier {
  readonly pipeline: string;
  readonly generation: number;
  /** The key in the ledger; `idempotency_key` is the same for all pipelines. */
  readonly record_key: string;
  readonly idempotency_key: string;
  /** Masked; null for objects, and for messages without a key. */
  readonly business_key?: string | null;
  readonly queue: string;
  readonly message_id: string;
  readonly group_id: string | null;
  readonly object: { readonly bucket: string; readonly key: string } | null;
  /** Finds the dossier by the object's key although the key is masked. */
  readonly object_digest?: string | null;
  /** Only of own messages: distinguishes another body from a copy; not of a withheld one. */
  readonly body_digest?: string | null;
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
  /** Masked, and truncated if it is long; null if it is withheld. */
  readonly payload: JsonValue;
  /** Governance refused the record, and the dead letter does not contain its payload (F3). */
  readonly withheld?: true;
  /** Null until the dead letter is sent; always null where the message stays in its own queue. */
  readonly dead_letter: {
    readonly queue: string;
    readonly message_id: string;
    readonly sent_at: EpochMs;
    /** The fence of the failure that the dead letter reports. */
    readonly fence: number;
    /** The dead letter has no Tidegate attributes, because they did not fit. */
    readonly bare?: boolean;
    /** Only of a bare dead letter: the earliest time of its send, by the clock of the queue. */
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
