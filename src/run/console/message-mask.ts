// Message mask: what the console shows of a message in a queue, and of an object's name.
//   M1. Without masks, a body is shown as it is. With masks, only what the masks leave of its
//       records is shown. A body that cannot be read is hidden, because it may contain anything.
//   M2. A masked value is also removed from the attributes that quote it.
//   M3. Without a pipeline, it is unknown where in a body a record starts. So a path matches at every
//       level, also in JSON that is the text of another value, as in a notification of a topic.
//   M4. A console that others can reach and that has neither a pipeline nor masks hides all bodies.
//   M5. Dead letters were masked when they were written. Masks of the console apply to them as well.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask, MASKED, type Mask } from "../../core/encoding/mask.ts";
import { clampText } from "../../core/encoding/text.ts";
import type { Pipeline } from "../../ingest/spec/define-pipeline.ts";
import { decodeDelivery, type WorkRecord } from "../../ingest/stages/decode.ts";
import { createRecordMask } from "../../ingest/telemetry/record-mask.ts";
import type { DeadLetterView } from "../../ports/console-record-views.ts";
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
  /** Whether there are masks, of the pipeline or of the console. */
  readonly isActive: boolean;
  show(message: QueuedText): ShownBody;
  /** An object's key, or a folder of keys. */
  keyOf(bucket: string, key: string): string;
  /** M5 */
  deadLetter(view: DeadLetterView): DeadLetterView;
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
  const ownMask = createMask(anywhere);
  const records = createRecordMask(mask);
  const isHidden = exposed && pipeline === null && own.length === 0; // M4

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
    const json = jsonIn(message.body);
    if (json === null || typeof json !== "object") return MASKED;
    const secrets = mask.secretsOf(json);
    return JSON.stringify(scrubTexts(mask.value(json), (text) => mask.text(text, secrets)));
  }

  /** The values that neither attributes nor texts may quote (M2). */
  function secretsIn(message: QueuedText, work: readonly WorkRecord[]): string[] {
    if (paths.length === 0) return [];
    if (work.length > 0) return work.flatMap((each) => records.secretsOf(each));
    return mask.secretsOf(jsonIn(message.body));
  }

  return {
    isActive: paths.length > 0,
    show(message) {
      if (isHidden) return hiddenBody(message); // M4
      const work = decoded(message);
      const secrets = secretsIn(message, work);
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
    deadLetter(view) {
      if (isHidden) return { ...view, payload: HIDDEN }; // M4
      return anywhere.length === 0 ? view : maskDeadLetter(view, ownMask);
    },
  };
}

function hiddenBody(message: QueuedText): ShownBody {
  const names = Object.keys(message.attributes).map((name) => [name, MASKED]);
  const attributes = Object.fromEntries(names) as ShownBody["attributes"];
  return { body: HIDDEN, truncated: false, attributes, object: null };
}

/** M5 */
function maskDeadLetter(view: DeadLetterView, ownMask: Mask): DeadLetterView {
  const { bucket = "", key = "" } = view.object ?? {};
  const json = unwrapped(view.payload, 0);
  const secrets = [...ownMask.secretsOf(json), ...ownMask.secretsOf({ object: { bucket, key } })];
  const masked = { ...view, payload: ownMask.value(json) } as unknown as JsonValue;
  const shown = scrubTexts(masked, (text) => ownMask.text(text, secrets));
  return { ...(shown as unknown as DeadLetterView), key: view.key };
}

const UNWRAP_DEPTH_MAX = 64;

/** The JSON in a text, with the JSON in its texts; null if it is not JSON (M3). */
function jsonIn(text: string): JsonValue {
  try {
    return unwrapped(JSON.parse(text) as JsonValue, 0);
  } catch {
    return null;
  }
}

function unwrapped(json: JsonValue, depth: number): JsonValue {
  if (depth > UNWRAP_DEPTH_MAX) return MASKED;
  if (typeof json === "string") {
    const inner = /^\s*[[{]/.test(json) ? parsed(json) : null;
    return inner === null ? json : unwrapped(inner, depth + 1);
  }
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => unwrapped(item, depth + 1));
  const members = Object.entries(json as JsonObject);
  return Object.fromEntries(members.map(([name, value]) => [name, unwrapped(value, depth + 1)]));
}

function parsed(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return null;
  }
}

/** The value is not deeper than UNWRAP_DEPTH_MAX. */
function scrubTexts(json: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof json === "string") return change(json);
  if (json === null || typeof json !== "object") return json;
  if (Array.isArray(json)) return json.map((item: JsonValue) => scrubTexts(item, change));
  const members = Object.entries(json as JsonObject);
  return Object.fromEntries(members.map(([name, value]) => [name, scrubTexts(value, change)]));
}
