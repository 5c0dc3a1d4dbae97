// Planted bugs of the message archive: each breaks a promise of decision 0027, and the simulator's
// checkers must notice.

import { encodeArchived } from "../../src/core/events/archived-message.ts";
import { createMessageArchive } from "../../src/ingest/archive/message-archive.ts";
import { createConsumer } from "../../src/ingest/running/consumer.ts";
import { asRecordKey } from "../../src/ledger/record-state.ts";
import type { WorldParts } from "../../src/sim/world-parts.ts";

/** Worlds of messages whose pipeline archives them, masked in part, and in which replays run. */
export const ARCHIVE_TOPOLOGY = {
  contents: "messages",
  archive: true,
  batches: 0,
  events: 60,
  groups: 6,
  masked: 0.25,
} as const;

export interface ArchiveFlaw {
  readonly parts: Partial<WorldParts>;
  /** The checker that must report it. */
  readonly checker: string;
}

/** Archives what a consumer receives, before anything judges it. */
const createHastyConsumer: WorldParts["createConsumer"] = (ports, options) => {
  const { archive } = ports;
  const { signal } = new AbortController();
  const receive: typeof ports.queue.receive = async (...call) => {
    const deliveries = await ports.queue.receive(...call);
    for (const { messageId, body, attributes, groupId, sentAt } of deliveries) {
      const message = { messageId, body, attributes, groupId, sentAt, dedupId: null };
      const stored = { ...message, identity: messageId, masked: false };
      void archive?.keep(asRecordKey(`k1:${messageId}`), stored, signal).catch(() => undefined);
    }
    return deliveries;
  };
  return createConsumer({ ...ports, queue: { ...ports.queue, receive } }, options);
};

export const ARCHIVE_FLAWS: Readonly<Record<string, ArchiveFlaw>> = {
  "a commit does not wait for the archive": {
    checker: "archived-before-commit",
    parts: {
      createMessageArchive(writer, settings) {
        const inner = createMessageArchive(writer, settings);
        return {
          async keep(recordKey, message, signal) {
            void inner.keep(recordKey, message, signal).catch(() => undefined);
            const { prefix, bucket } = settings;
            return `s3://${bucket}/${encodeArchived(message, { prefix, recordKey }).key}`;
          },
        };
      },
    },
  },
  "a failing archive is passed over": {
    checker: "archived-before-commit",
    parts: {
      createMessageArchive(writer, settings) {
        const inner = createMessageArchive(writer, settings);
        return {
          keep: (key, message, signal) =>
            inner.keep(key, message, signal).catch(() => `s3://${settings.bucket}/unknown`),
        };
      },
    },
  },
  "the archived body is not the delivered one": {
    checker: "replay-same-messages",
    parts: {
      createMessageArchive(writer, settings) {
        const inner = createMessageArchive(writer, settings);
        const changed = (body: string) => body.replace(/"group":"g\d+"/, '"group":"g0"');
        return {
          keep: (key, message, signal) =>
            inner.keep(key, { ...message, body: changed(message.body) }, signal),
        };
      },
    },
  },
  "messages are archived when they are received, before they are refused": {
    checker: "refused-stays-out",
    parts: { createConsumer: createHastyConsumer },
  },
  "messages are archived when they are received, before they are masked": {
    checker: "masked-stays-hidden",
    parts: { createConsumer: createHastyConsumer },
  },
};
