// Message mask: what the console shows of a message in a queue, and of an object's name.
//   M1. Without masks, a body is shown as it is. With masks, only what the masks leave of its
//       records is shown. A body that cannot be read is hidden, because it may contain anything;
//       by masks of the console, also one that is not JSON, in which their paths find nothing.
//   M2. A masked value is also removed from the attributes that quote it.
//   M3. Without a pipeline, it is unknown where in a body a record starts. So a path matches at
//       every level, also in JSON that is the text of another value, as in a notification.
//   M4. A console that others can reach and that has neither a pipeline nor masks hides all bodies
//       and errors.
//   M5. What the ledger has was masked when it was written. Masks of the console apply to it as
//       well (view-mask.ts).
//   M6. The failure in the attributes of a dead letter may quote any value, also one of a row. It
//       is hidden by masks of the console, which the pipeline did not know when it wrote it.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask, type Mask } from "../../core/encoding/mask.ts";
import { HIDDEN_BODY, hiddenBodyOf, MASKED } from "../../core/encoding/secrets.ts";
import { clampText } from "../../core/encoding/text.ts";
import { DEAD_LETTER_ATTRIBUTES } from "../../ingest/dead-letters/dead-letter.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { decodeDelivery, type WorkRecord } from "../../ingest/stages/decode.ts";
import { createRecordMask, decodeForm } from "../../ingest/telemetry/record-mask.ts";
import type { Delivery } from "../../ports/queue-receiver.ts";
import { hasJsonBody, hasJsonPayload, jsonIn, scrubTexts } from "./json-texts.ts";
import { createViewMask, hidePayloads, PLAIN_VIEWS, type ViewMask } from "./view-mask.ts";

export interface ShownBody {
  readonly body: string;
  readonly truncated: boolean;
  readonly attributes: Readonly<Record<string, string>>;
  readonly groupId: string | null;
  readonly object: { readonly bucket: string; readonly key: string } | null;
}

export type QueuedText = Pick<
  Delivery,
  "messageId" | "body" | "attributes" | "groupId" | "sentAt" | "receiveCount"
>;

export interface MessageMask {
  /** Whether there are masks, of the pipeline or of the console. */
  readonly isActive: boolean;
  show(message: QueuedText): ShownBody;
  /** An object's key, or a folder of keys. */
  keyOf(bucket: string, key: string): string;
  /** What the console's own masks leave of the ledger's views (M5). */
  readonly views: ViewMask;
}

/** What the console was started with. */
export interface MaskSettings {
  /** Masks in addition to those of the pipeline. */
  readonly mask?: readonly string[] | undefined;
  /** Whether others than this computer can reach it. */
  readonly exposed?: boolean;
}

const BODY_CHARS_MAX = 32_768;
const HIDDEN =
  `${MASKED} hidden: others can reach this console, and it has no masks; ` +
  "start it with --mask PATHS to show bodies without the values at PATHS";

export function createMessageMask(
  pipeline: Pipeline | null,
  { mask: own = [], exposed = false }: MaskSettings = {},
): MessageMask {
  const anywhere = own.flatMap((path) => [path, `**.${path}`]); // M3
  const paths = [...(pipeline?.mask ?? []), ...anywhere];
  const mask = createMask(paths);
  const isActive = paths.length > 0;
  const isHidden = exposed && pipeline === null && own.length === 0; // M4
  const ownViews = anywhere.length === 0 ? PLAIN_VIEWS : createViewMask(anywhere);
  const hidesErrors = anywhere.length > 0; // M6
  const showMasked = createMaskedBodies(pipeline, mask, { isActive, hidesErrors });
  return {
    isActive,
    show: (message) => (isHidden ? hiddenBody(message) : showMasked(message)), // M4
    keyOf(bucket, key) {
      if (!isActive) return key;
      const { object } = mask.value({ object: { bucket, key } }) as JsonObject;
      if (object === null || typeof object !== "object") return MASKED;
      return String((object as JsonObject).key);
    },
    views: isHidden ? hidePayloads(HIDDEN) : ownViews,
  };
}

function createMaskedBodies(
  pipeline: Pipeline | null,
  mask: Mask,
  { isActive, hidesErrors }: { readonly isActive: boolean; readonly hidesErrors: boolean },
) {
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

  function payloadOf(record: WorkRecord): JsonValue {
    const payload = records.payloadOf(record);
    const mayBeText = record.content.kind !== "unusable" && !hidesErrors;
    return mayBeText || hasJsonPayload(payload) ? payload : hiddenBodyOf(payload); // M1
  }

  function bodyOf(message: QueuedText, work: readonly WorkRecord[]): string {
    if (!isActive) return message.body; // M1
    if (work.length > 0) return textOf(work.map(payloadOf));
    const json = jsonIn(message.body);
    if (!hasJsonBody(json)) return HIDDEN_BODY;
    const secrets = mask.secretsOf(json);
    return JSON.stringify(scrubTexts(mask.value(json), (text) => mask.text(text, secrets)));
  }

  /** The values that neither attributes nor texts may quote (M2). */
  function secretsIn(message: QueuedText, work: readonly WorkRecord[]): string[] {
    if (!isActive) return [];
    if (work.length > 0) return work.flatMap((each) => records.secretsOf(each));
    const secrets = mask.secretsOf(jsonIn(message.body));
    return [...secrets, ...secrets.map(decodeForm)];
  }

  return (message: QueuedText): ShownBody => {
    const work = decoded(message);
    const secrets = secretsIn(message, work);
    const body = bodyOf(message, work);
    const [first] = work;
    const attributes = Object.entries(message.attributes).map(([name, value]) => {
      const isError = name === DEAD_LETTER_ATTRIBUTES.failure && hidesErrors; // M6
      return [name, isError ? MASKED : mask.text(value, secrets)]; // M2
    });
    return {
      body: clampText(body, BODY_CHARS_MAX),
      truncated: body.length > BODY_CHARS_MAX,
      attributes: Object.fromEntries(attributes),
      groupId: message.groupId && mask.text(message.groupId, secrets),
      object: first === undefined ? null : records.objectOf(first, secrets),
    };
  };
}

function textOf(payloads: readonly JsonValue[]): string {
  const [first = null, ...others] = payloads;
  if (others.length > 0) return JSON.stringify(payloads);
  return first === hiddenBodyOf(first) ? first : JSON.stringify(first);
}

function hiddenBody(message: QueuedText): ShownBody {
  const names = Object.keys(message.attributes).map((name) => [name, MASKED]);
  const attributes = Object.fromEntries(names) as ShownBody["attributes"];
  const groupId = message.groupId && MASKED;
  return { body: HIDDEN, truncated: false, attributes, groupId, object: null };
}
