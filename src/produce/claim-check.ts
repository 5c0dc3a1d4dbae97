// Claim check, the effectful half: stores payloads before their messages are sent, and fetches
// them.

import { reasonOf, TidegateError } from "../core/errors.ts";
import { type ClaimCheck, readClaimCheck, redeemClaimCheck } from "../core/events/claim-check.ts";
import type { MessageEnvelope } from "../core/events/envelope.ts";
import type { Objects } from "../ports/objects/objects.ts";

export interface ClaimCheckLocation {
  readonly bucket: string;
  /** Ends in a slash if it is a folder. */
  readonly prefix?: string;
}

export interface PayloadObject {
  readonly check: ClaimCheck;
  readonly bytes: Uint8Array;
}

/** Stores a payload. Once this resolves, the message that refers to it may be sent. */
export async function putPayload(objects: Objects, { check, bytes }: PayloadObject): Promise<void> {
  try {
    await objects.put(check.bucket, check.key, bytes);
  } catch (error) {
    if (error instanceof TidegateError) throw error;
    const message = `cannot put the payload into ${check.bucket}: ${reasonOf(error)}`;
    throw new TidegateError("TG_OBJECTS_UNAVAILABLE", message, { cause: error });
  }
}

/** Returns the envelope with its payload, fetched and verified if it is in a bucket. */
export async function withPayload(
  envelope: MessageEnvelope,
  objects: Objects,
): Promise<MessageEnvelope> {
  const check = readClaimCheck(envelope.payload);
  if (check === undefined) return envelope;
  const bytes = await objects.get(check.bucket, check.key);
  if (bytes === undefined) {
    const message = `payload s3://${check.bucket}/${check.key} does not exist`;
    throw new TidegateError("TG_OBJECTS_UNAVAILABLE", message);
  }
  return { ...envelope, payload: redeemClaimCheck(check, bytes) };
}
