// Last duplicate: what the count of a record's duplicates says of the latest one.

export interface LastDuplicate {
  /** Null if the note does not say it. */
  readonly messageId: string | null;
  readonly receiveCount: number | null;
}

/** Reads the body of a note of the kind `duplicates`. */
export function lastDuplicate(body: string): LastDuplicate {
  try {
    const { message_id: id, receive_count: count } = JSON.parse(body) as Record<string, unknown>;
    return {
      messageId: typeof id === "string" ? id : null,
      receiveCount: typeof count === "number" ? count : null,
    };
  } catch {
    return { messageId: null, receiveCount: null };
  }
}
