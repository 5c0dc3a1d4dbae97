// MessageDetail: what only some messages carry, as the JSON that is stored beside the body.

import type { MessageAttribute } from "../operations.ts";
import type { SignatureVersion } from "../sns/topic-operations-contract.ts";

export interface MessageDetail {
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly traceHeader: string | null;
  readonly dedupId: string | null;
  /** ARN of the queue a dead letter came from; it outlives that queue. */
  readonly sourceArn: string | null;
  /** A notification whose signature is still to be filled in, and by which version. */
  readonly unsigned?: SignatureVersion | undefined;
  /** What a message to an http endpoint is, if not a notification. */
  readonly purpose?: "SubscriptionConfirmation" | undefined;
}

const NOTHING: MessageDetail = {
  attributes: null,
  traceHeader: null,
  dedupId: null,
  sourceArn: null,
};

/** Null when there is nothing to keep, as with most messages of a standard queue. */
export function formatDetail(detail: MessageDetail): string | null {
  const { attributes, traceHeader, dedupId, sourceArn, unsigned, purpose } = detail;
  const text = traceHeader ?? dedupId ?? sourceArn ?? unsigned ?? purpose ?? null;
  if (attributes === null && text === null) return null;
  // What is undefined is left out.
  return JSON.stringify({
    attributes: attributes ?? undefined,
    traceHeader: traceHeader ?? undefined,
    dedupId: dedupId ?? undefined,
    sourceArn: sourceArn ?? undefined,
    unsigned,
    purpose,
  });
}

export function parseDetail(text: string | null): MessageDetail {
  return text === null ? NOTHING : { ...NOTHING, ...(JSON.parse(text) as Partial<MessageDetail>) };
}
