// Message mask: what the console shows of a message in a queue, and of an object's name.
//   M1. Without masks, a body is shown as it is. With masks, only what the masks leave of its
//       records is shown. A body that cannot be read is hidden, because it may contain anything.
//   M2. A masked value is also removed from the attributes that quote it.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask, MASKED } from "../../core/encoding/mask.ts";
import { clampText } from "../../core/encoding/text.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { decodeDelivery, type WorkRecord } from "../../ingest/stages/decode.ts";
import { createRecordMask } from "../../ingest/telemetry/record-mask.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";

export interface ShownBody {
  readonly body: string;
  readonly truncated: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly object: { readonly bucket: string; readonly key: string } | null;
}

export type QueuedText = Pick<
  Delivery,
  "messageId" | "body" | "attributes" | "groupId" | "sentAt" | "receiveCount"
>;

export interface MessageMask {
  show(message: QueuedText): ShownBody;
  /** An object's key, or a folder of keys. */
  keyOf(bucket: string, key: string): string;
}

const BODY_CHARS_MAX = 32_768;

export function createMessageMask(pipeline: Pipeline | null): MessageMask {
  const paths = pipeline?.mask ?? [];
  const mask = createMask(paths);
  const records = createRecordMask(mask);

  function decoded(message: QueuedText): readonly WorkRecord[] {
    if (pipeline === null) return [];
    try {
      const delivery: Delivery = { ...message, receipt: "", traceHeader: null, movedFrom: null };
      return decodeDelivery(pipeline, delivery).records;
    } catch {
      return []; // A pipeline's own function failed.
    }
  }

  function bodyOf(message: QueuedText, work: readonly WorkRecord[]): string {
    if (paths.length === 0) return message.body; // M1
    const [first, ...others] = work.map((record) => records.payloadOf(record));
    if (first !== undefined)
      return JSON.stringify(others.length === 0 ? first : [first, ...others]);
    try {
      const json = JSON.parse(message.body) as JsonValue;
      return typeof json === "object" ? JSON.stringify(mask.value(json)) : MASKED;
    } catch {
      return MASKED;
    }
  }

  return {
    show(message) {
      const work = decoded(message);
      const secrets = paths.length === 0 ? [] : work.flatMap((each) => records.secretsOf(each));
      const body = bodyOf(message, work);
      const [first] = work;
      const attributes = Object.entries(message.attributes).map(([name, value]) => {
        return [name, mask.text(value, secrets)]; // M2
      });
      return {
        body: clampText(body, BODY_CHARS_MAX),
        truncated: body.length > BODY_CHARS_MAX,
        attributes: Object.fromEntries(attributes),
        object: first === undefined ? null : records.objectOf(first, secrets),
      };
    },
    keyOf(bucket, key) {
      if (paths.length === 0) return key;
      const { object } = mask.value({ object: { bucket, key } }) as JsonObject;
      if (object === null || typeof object !== "object") return MASKED;
      return String((object as JsonObject).key);
    },
  };
}
