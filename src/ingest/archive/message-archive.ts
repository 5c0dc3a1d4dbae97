// Message archive: messages as objects of a bucket, one object each.
//   A1. An object is written only if its key is absent. Its name has the hash of its bytes, so an
//       object that exists already is the same message.
//   A2. Whatever goes wrong counts as an unavailable sink: no attempt is counted, receiving stops,
//       and the message stays in its queue. A missing bucket must not dead-letter every message.

import { TidegateError } from "../../core/errors.ts";
import { encodeArchived } from "../../core/events/archived-message.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { ObjectWriter } from "../../ports/objects/object-writer.ts";
import { wholeMessageOf } from "../policy/error-text.ts";
import type { ArchiveSettings } from "../spec/archive-fields.ts";

export function createMessageArchive(
  writer: ObjectWriter,
  { bucket, prefix }: ArchiveSettings,
): MessageArchive {
  return {
    async keep(recordKey, message, signal) {
      const { text, key } = encodeArchived(message, { prefix, recordKey });
      try {
        const object = {
          bucket,
          key,
          bytes: new TextEncoder().encode(text),
          contentType: "application/json",
          metadata: {},
          condition: { absent: true },
        } as const;
        const answer = await writer.write(object, signal); // A1
        if (answer !== "conflict") return `s3://${bucket}/${key}`;
        throw new Error("another write of the same message is in progress");
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        const about = `the message was not archived in s3://${bucket}/${prefix}`;
        const options = { cause: error };
        throw new TidegateError(
          "TG_SINK_UNAVAILABLE",
          `${about}: ${wholeMessageOf(error)}`,
          options,
        ); // A2
      }
    },
  };
}
