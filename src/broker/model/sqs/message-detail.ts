// MessageDetail: the optional parts of a message, stored as JSON beside the body.

import type { MessageAttribute } from "../operations.ts";
import type { SignatureVersion } from "../sns/topic-operations-contract.ts";

export interface MessageDetail {
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly traceHeader: string | null;
  readonly dedupId: string | null;
  /** ARN of the source queue of a dead letter; it outlives that queue. */
  readonly sourceArn: string | null;
  /** The version with which a notification must still be signed. */
  readonly unsigned?: SignatureVersion | undefined;
  /** The purpose of a message to an HTTP endpoint, unless it is a notification. */
  readonly purpose?: "SubscriptionConfirmation" | undefined;
}

const NOTHING: MessageDetail = {
  attributes: null,
  traceHeader: null,
  dedupId: null,
  sourceArn: null,
};

/**
 * Null if there is nothing to store, as with most messages of a standard queue. `attributesText` is
 * the JSON of the attributes, if the caller has it (X1 of shared-texts.ts).
 */
export function formatDetail(detail: MessageDetail, attributesText?: string): string | null {
  const { attributes, traceHeader, dedupId, sourceArn, unsigned, purpose } = detail;
  const text = traceHeader ?? dedupId ?? sourceArn ?? unsigned ?? purpose ?? null;
  if (attributes === null && text === null) return null;
  // JSON leaves out undefined fields.
  const json = JSON.stringify({
    attributes: attributesText === undefined ? (attributes ?? undefined) : undefined,
    traceHeader: traceHeader ?? undefined,
    dedupId: dedupId ?? undefined,
    sourceArn: sourceArn ?? undefined,
    unsigned,
    purpose,
  });
  if (attributesText === undefined) return json;
  const rest = json === "{}" ? "}" : `,${json.slice(1)}`;
  return `{"attributes":${attributesText}${rest}`;
}

export function parseDetail(text: string | null): MessageDetail {
  return text === null ? NOTHING : { ...NOTHING, ...(JSON.parse(text) as Partial<MessageDetail>) };
}
