// Archived messages: reads the messages that a pipeline archived.
//   M1. A message counts only if its bytes have the hash of its name, and only for the record that
//       it names. It must have the record's key under the present code, too.
//       A masked message may lack what the present code needs to read it. That is reported as such:
//       the message is not gone, and other code may read it.
//   M2. Every read checks M1, so a message that changes while a replay runs is not processed.

import { type ArchivedMessage, decodeArchived } from "../core/events/archived-message.ts";
import { type DecodingPipeline, decodeDelivery } from "../ingest/stages/decode.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { ObjectSource } from "../ports/objects/object-source.ts";
import { archivedDelivery, type ReplayInput } from "./replay-input.ts";

/** More than the largest message of SQS, with its attributes, as JSON. */
const BYTES_MAX = 16 * 1024 * 1024;

/**
 * Why an input cannot be replayed: its bytes do not exist any more, or the present code cannot read
 * the message, perhaps because it is stored masked.
 */
export type AbsenceCause = "gone" | "masked" | "unreadable";

export type ReadArchived =
  | { readonly kind: "message"; readonly message: ArchivedMessage }
  | { readonly kind: "gone"; readonly reason: string }
  /** It may exist. */
  | { readonly kind: "forbidden"; readonly reason: string };

/** The message of an input, with the bytes that its name promises (M2). */
export async function readArchivedMessage(
  objects: ObjectSource,
  { object }: Pick<ReplayInput, "object">,
  signal: AbortSignal,
): Promise<ReadArchived> {
  const opened = await objects.open(object, signal);
  if (opened.kind === "forbidden") return opened;
  if (opened.kind !== "opened") return gone("does not exist any more");
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of opened.bytes.stream(signal)) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > BYTES_MAX) return gone("was changed: it is larger than a message");
  }
  const message = decodeArchived(Buffer.concat(chunks), object.key);
  return typeof message === "string" ? gone(message) : { kind: "message", message };
}

function gone(reason: string): ReadArchived {
  return { kind: "gone", reason };
}

/** The identity of a message's record, or why it cannot be replayed (M1). */
export async function checkArchived(
  objects: ObjectSource,
  pipeline: DecodingPipeline,
  input: ReplayInput,
  signal: AbortSignal,
): Promise<
  | { readonly identity: string }
  | { readonly cause: AbsenceCause; readonly reason: string }
  | { readonly forbidden: string }
> {
  const read = await readArchivedMessage(objects, input, signal);
  if (read.kind === "forbidden") return { forbidden: read.reason };
  if (read.kind === "gone") return { cause: "gone", reason: read.reason };
  const { identity, masked } = read.message;
  const scope = { pipeline: pipeline.name, generation: pipeline.generation };
  if (recordKey(scope, identity) !== input.key) {
    return { cause: "gone", reason: "belongs to another record" };
  }
  const cause = masked ? "masked" : "unreadable"; // M1
  const [record] = decodeDelivery(pipeline, archivedDelivery(input, read.message)).records;
  if (record === undefined || record.content.kind === "unusable") {
    const why = record?.content.kind === "unusable" ? `: ${record.content.reason}` : "";
    return { cause, reason: `cannot be read by the present code${why}` };
  }
  if (record.key !== input.key) return { cause, reason: "has another key under the present code" };
  return { identity };
}
