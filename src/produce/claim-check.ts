// Claim check, the effectful half: puts payloads before their messages leave, and fetches them.

import { reasonOf, TidegateError } from "../core/errors.ts";
import { type ClaimCheck, readClaimCheck, redeemClaimCheck } from "../core/events/claim-check.ts";
import type { MessageEnvelope } from "../core/events/envelope.ts";
import type { Objects } from "../ports/objects.ts";

export interface ClaimCheckLocation {
  readonly bucket: string;
  /** Ends in a slash, if it is to be a folder. */
  readonly prefix?: string;
}

export interface PayloadObject {
  readonly check: ClaimCheck;
  readonly bytes: Uint8Array;
}

/** Stores a payload; once this resolves, the message that points to it may leave. */
export async function putPayload(objects: Objects, { check, bytes }: PayloadObject): Promise<void> {
  try {
    await objects.put(check.bucket, check.key, bytes);
  } catch (error) {
    if (error instanceof TidegateError) throw error;
    const message = `the payload could not be put into ${check.bucket}: ${reasonOf(error)}`;
    throw new TidegateError("TG_OBJECTS_UNAVAILABLE", message, { cause: error });
  }
}

/** The envelope with its real payload, fetched and verified if it lies in a bucket. */
export async function withPayload(
  envelope: MessageEnvelope,
  objects: Objects,
): Promise<MessageEnvelope> {
  const check = readClaimCheck(envelope.payload);
  if (check === undefined) return envelope;
  const bytes = await objects.get(check.bucket, check.key);
  if (bytes === undefined) {
    const message = `the payload s3://${check.bucket}/${check.key} is not there`;
    throw new TidegateError("TG_OBJECTS_UNAVAILABLE", message);
  }
  return { ...envelope, payload: redeemClaimCheck(check, bytes) };
}
