// Archived message: a message as the archive of a pipeline stores it, so that it can be replayed.
//   V1. The text has only what is the same for every delivery of the message, so a redelivery
//       stores the same bytes under the same name.
//   V2. The name ends with the hash of the bytes. Other bytes under that name are recognised.
//   V3. The text names the record that it belongs to.

import { canonicalJson, type JsonObject } from "../encoding/canonical-json.ts";
import { sha256Hex } from "../encoding/hash.ts";
import { parseStrictJson } from "../encoding/strict-json.ts";
import { type EpochMs, epochMs } from "../units.ts";

const FORMAT = "tidegate-message-1";
const NAME = /\/([0-9a-f]{64})\.json$/;
const KEY_VERSION = /^k\d+:/;

export interface ArchivedMessage {
  /** The identity of the record, the same in every generation (V3). */
  readonly identity: string;
  /** Whether `govern` had values of it masked. */
  readonly masked: boolean;
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly groupId: string | null;
  readonly dedupId: string | null;
  readonly sentAt: EpochMs;
  readonly messageId: string;
}

/** The text and the object key of a message (V1, V2). */
export function encodeArchived(
  message: ArchivedMessage,
  { prefix, recordKey }: { readonly prefix: string; readonly recordKey: string },
): { readonly text: string; readonly key: string } {
  const text = canonicalJson({ format: FORMAT, ...message } as unknown as JsonObject);
  const record = recordKey.replace(KEY_VERSION, "");
  return { text, key: `${prefix}${record}/${sha256Hex(text)}.json` };
}

/** The message of an object, or why it is none. */
export function decodeArchived(bytes: Uint8Array, key: string): ArchivedMessage | string {
  if (NAME.exec(key)?.[1] !== sha256Hex(bytes)) return "was changed: its bytes have another hash"; // V2
  const parsed = parseStrictJson(new TextDecoder().decode(bytes));
  const stored = parsed.kind === "value" ? (parsed.value as JsonObject | null) : null;
  if (stored?.format !== FORMAT) return `is not of the format ${FORMAT}`;
  const message = stored as unknown as ArchivedMessage;
  return { ...message, sentAt: epochMs(message.sentAt) };
}
