// Govern: asks the pipeline's `govern` about an event and its rows before the handler gets them.
//   G1. The handler gets nothing that `govern` has not answered for. It is asked before the schema
//       runs, because an error of the schema may quote a value.
//   G2. A refusal ends the attempt, even if the handler catches the error of its read. So does an
//       error of `govern`, and an answer that is none of the three.
//   G3. "mask" hides values before the schema: what the schema makes of them is hidden, too. A mask
//       that cannot hide anything fails the attempt instead of showing everything.
//   G4. The texts here name positions, never values. A text of the user's code may quote what was
//       asked about, so all values of that content are removed from it.
//   G5. The answer for an event applies to all its rows; a row can only be judged more strictly.

import type { JsonObject, JsonValue } from "../../core/encoding/canonical-json.ts";
import { createMask, type Mask } from "../../core/encoding/mask.ts";
import { MASKED } from "../../core/encoding/secrets.ts";
import { readClaimCheck } from "../../core/events/claim-check.ts";
import type { MessageEnvelope } from "../../core/events/envelope.ts";
import type { ObjectEvent } from "../../core/events/object-event.ts";
import type { NumberedRow } from "../../ports/rows.ts";
import type { MaskedMessage } from "../archive/archived-form.ts";
import { classify } from "../policy/error-class.ts";
import { isOf } from "../policy/error-facts.ts";
import type { Pipeline } from "../spec/define-pipeline.ts";
import type { EventFacts } from "../spec/event-facts.ts";
import { GovernanceError, PermanentError } from "../spec/handler-errors.ts";
import type { OwnMessageInput } from "../spec/own-source.ts";
import type { WorkRecord } from "./decode.ts";

/** The class of a failure whose cause is the `govern` function itself; it is not retried. */
export const UNGOVERNED_CLASS = "ungoverned";
/** The class of refused data, whose payload is withheld. */
export const GOVERNANCE_CLASS = "governance";
/** Values per record that are removed from a text of the user's code (G4). */
const VALUES_MAX = 1_000;

const EVERYTHING = createMask(["**"]);

/** What one attempt may give to the handler. Every method throws if it is refused. */
export interface Governance {
  envelope(envelope: MessageEnvelope): Promise<MessageEnvelope>;
  own(input: OwnMessageInput<unknown>): Promise<OwnMessageInput<unknown>>;
  object(event: ObjectEvent): Promise<ObjectEvent>;
  row(row: NumberedRow): Promise<NumberedRow>;
  /** Throws if the object is masked: bytes and text have no paths to mask (G3). */
  checkBytes(): void;
  /** Throws what ended the attempt, if anything did (G2). */
  check(): void;
  /** The message of the record as it may be stored, if values of it were masked; else null. */
  masked(record: WorkRecord): MaskedMessage | null;
}

/** The governance of one attempt; null without a `govern` function. */
export function createGovernance(
  { govern, mask: paths }: Pick<Pipeline, "govern" | "mask">,
  mask: Mask,
  facts: EventFacts | null,
): Governance | null {
  if (govern === null || facts === null) return null;
  let ended: { readonly error: unknown } | null = null;
  let masksAll = false;
  let masked: MaskedMessage | null = null;
  let secrets: readonly string[] = [];

  /** Runs `judge`, and remembers what it throws (G2). */
  async function judged<T>(judge: () => Promise<T>): Promise<T> {
    try {
      return await judge();
    } catch (error) {
      ended ??= { error };
      throw error;
    }
  }

  const isMasked = (event: EventFacts, about: string, row?: JsonObject) =>
    asksForMask({ govern, mask: paths }, event, about, row);

  return {
    envelope: (envelope) =>
      judged(async () => {
        const event = { ...facts, envelope } as EventFacts;
        if (!(await isMasked(event, "the message"))) return envelope;
        const hidden = mask.value(envelope as unknown as JsonValue);
        secrets = mask.secretsOf(envelope);
        masked = { kind: "message", envelope: hidden as unknown as MessageEnvelope };
        return masked.envelope;
      }),
    own: (input) =>
      judged(async () => {
        if (!(await isMasked(input, "the message"))) return input;
        masked = { kind: "own", input: maskedOwn(mask, input) };
        return masked.input;
      }),
    object: (event) =>
      judged(async () => {
        masksAll = await isMasked(facts, "the object"); // G5
        return masksAll ? maskedObject(mask, event) : event;
      }),
    row: (row) =>
      judged(async () => {
        const about = `${row.unit ?? "line"} ${row.line}`;
        const isHidden = (await isMasked(facts, about, row.value)) || masksAll; // G5
        return isHidden ? { ...row, value: mask.value(row.value) as JsonObject } : row;
      }),
    checkBytes() {
      if (masksAll) throw ungoverned("the object is masked; read it with rows(), not as text");
    },
    check() {
      if (ended !== null) throw ended.error;
    },
    masked: ({ content }) => masked && storable(mask, content, masked, secrets),
  };
}

/** Asks `govern`; whether its answer is "mask". Throws if it refuses. */
async function asksForMask(
  { govern, mask }: Pick<Pipeline, "govern" | "mask">,
  event: EventFacts,
  about: string,
  row?: JsonObject,
): Promise<boolean> {
  const answer: unknown = await (row === undefined ? govern?.(event) : govern?.(event, row));
  if (answer === "refuse") throw new Refused(`govern refused ${about}`);
  if (answer === "allow") return false;
  if (answer !== "mask") {
    throw ungoverned(
      `govern returned a value of type ${typeof answer} for ${about}; return "allow", "mask" or "refuse"`,
    );
  }
  if (mask.length > 0) return true;
  throw ungoverned('govern returned "mask", but the pipeline has no mask; add mask: [...]'); // G3
}

/** A refusal with a text of this file, which quotes nothing (G4). */
class Refused extends GovernanceError {}

/** The pipeline cannot govern; the text quotes nothing (G4). */
class Ungoverned extends PermanentError {}

function ungoverned(message: string): PermanentError {
  return new Ungoverned(message, { class: UNGOVERNED_CLASS });
}

/** The masked message; the payload of a claim check stays a reference (F3 of archived-form.ts). */
function storable(
  mask: Mask,
  content: WorkRecord["content"],
  masked: MaskedMessage,
  secrets: readonly string[],
): MaskedMessage {
  if (content.kind !== "message" || !isClaimCheck(content.envelope)) return masked;
  const { envelope: received } = content;
  const envelope = mask.value(received) as MessageEnvelope;
  const reference = JSON.stringify(received.payload);
  const shown = mask.text(JSON.stringify(envelope.payload), secrets);
  return shown === reference ? { kind: "message", envelope } : { kind: "withheld" };
}

/** Masks a body that is JSON by its paths, and any other by the path "body" (G3). */
function maskedOwn(mask: Mask, input: OwnMessageInput<unknown>): OwnMessageInput<unknown> {
  const { body, key, attributes } = input;
  const isJson = typeof body === "object" && body !== null && isPlainData(body);
  const secrets = mask.secretsOf(isJson ? (body as JsonValue) : { body: String(body) });
  const shown = (text: string) => mask.text(text, secrets);
  const rest = {
    ...input,
    key: shown(key),
    attributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, shown(value)]),
    ),
  };
  if (isJson) return { ...rest, body: mask.value(body as JsonValue) };
  const whole = mask.value({ body: "" }) as JsonObject;
  if (whole.body === MASKED) return { ...rest, body: MASKED };
  throw ungoverned('govern returned "mask", but the body is not JSON; add the path "body" to mask');
}

function isPlainData(body: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(body);
  return Array.isArray(body) || prototype === Object.prototype || prototype === null;
}

/** Removes masked parts of the bucket and key from every text of the event. */
function maskedObject(mask: Mask, event: ObjectEvent): ObjectEvent {
  const { bucket, key } = event;
  const secrets = mask.secretsOf({ object: { bucket, key } });
  if (secrets.length === 0) return event;
  const shown = Object.entries(event).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "string" ? mask.text(value, secrets) : value,
  ]);
  return Object.fromEntries(shown) as ObjectEvent;
}

/** Whether the record's payload was withheld before: it can only be dead-lettered again. */
export function isWithheldRecord({ content }: WorkRecord): boolean {
  return content.kind === "unusable" && content.errorClass === GOVERNANCE_CLASS;
}

/** Whether the message of a record contains its payload, and not only a reference to it. */
export function carriesPayload({ content }: WorkRecord): boolean {
  switch (content.kind) {
    case "object":
      return false;
    case "message":
      return !isClaimCheck(content.envelope);
    default:
      return true;
  }
}

function isClaimCheck({ payload }: MessageEnvelope): boolean {
  try {
    return readClaimCheck(payload) !== undefined;
  } catch {
    return false;
  }
}

/**
 * An error as it may be stored, and the values that its texts may quote (G4). `content` is what the
 * user's code got last.
 */
export function governedFailure(
  pipeline: Pick<Pipeline, "govern" | "retry">,
  error: unknown,
  content: JsonValue,
  governance: Governance | null,
): { readonly error: unknown; readonly values: readonly string[] } {
  const isRefusal = classify(error, pipeline.retry.classify).errorClass === GOVERNANCE_CLASS;
  if (!isRefusal && !endedBy(governance)) return { error, values: [] };
  if (isOf(error, Refused) || isOf(error, Ungoverned)) return { error, values: [] };
  const values = EVERYTHING.secretsOf(content);
  if (values.length <= VALUES_MAX) return { error, values };
  const about = "the text is withheld, because the content has too many values to remove from it";
  if (isRefusal) return { error: new GovernanceError(`refused; ${about}`), values: [] };
  return { error: new Error(`govern failed; ${about}`), values: [] };
}

function endedBy(governance: Governance | null): boolean {
  try {
    governance?.check();
    return false;
  } catch {
    return true;
  }
}
