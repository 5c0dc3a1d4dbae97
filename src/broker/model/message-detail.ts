// MessageDetail: what only some messages carry, as the JSON that is stored beside the body.

import type { MessageAttribute } from "./operations.ts";

export interface MessageDetail {
  readonly attributes: Readonly<Record<string, MessageAttribute>> | null;
  readonly traceHeader: string | null;
  readonly dedupId: string | null;
  /** ARN of the queue a dead letter came from; it outlives that queue. */
  readonly sourceArn: string | null;
}

const NOTHING: MessageDetail = {
  attributes: null,
  traceHeader: null,
  dedupId: null,
  sourceArn: null,
};

/** Null when there is nothing to keep, as with most messages of a standard queue. */
export function formatDetail(detail: MessageDetail): string | null {
  const { attributes, traceHeader, dedupId, sourceArn } = detail;
  if (attributes === null && (traceHeader ?? dedupId ?? sourceArn) === null) return null;
  return JSON.stringify({
    ...(attributes === null ? {} : { attributes }),
    ...(traceHeader === null ? {} : { traceHeader }),
    ...(dedupId === null ? {} : { dedupId }),
    ...(sourceArn === null ? {} : { sourceArn }),
  });
}

export function parseDetail(text: string | null): MessageDetail {
  return text === null ? NOTHING : { ...NOTHING, ...(JSON.parse(text) as Partial<MessageDetail>) };
}
