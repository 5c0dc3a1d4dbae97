// Unwrap SNS: takes the SNS envelopes off a body of any kind. A subscription without raw delivery
// wraps every message, whatever its text is.
//   W1. A body is an SNS envelope if it is a JSON object whose `Type`, `TopicArn` and `Message` are
//       strings. Any other body is returned unchanged, valid JSON or not.
//   W2. A control message of SNS, such as a subscription confirmation, has no content to return.

import { parseStrictJson } from "../../encoding/strict-json.ts";
import { SNS_LAYERS_MAX } from "../../limits.ts";
import { asObject, type Problem } from "../problem.ts";
import { readSnsEnvelope, type SnsLayer } from "./sns-envelope.ts";

export type UnwrappedBody = { readonly layers: readonly SnsLayer[] } & (
  | { readonly kind: "body"; readonly text: string }
  | { readonly kind: "undecodable"; readonly problem: Problem }
);

/** The text inside all SNS envelopes, and the envelopes, outermost first. */
export function unwrapSns(body: string): UnwrappedBody {
  const layers: SnsLayer[] = [];
  let text = body;
  while (true) {
    const wrapped = envelopeIn(text);
    if (wrapped === undefined) return { kind: "body", text, layers }; // W1
    const path = "/Message".repeat(layers.length);
    if (wrapped.kind === "control") {
      const reason = `is a ${wrapped.type} of SNS, which does not belong in a queue`;
      return { kind: "undecodable", problem: { path: `${path}/Type`, reason }, layers }; // W2
    }
    if (layers.length === SNS_LAYERS_MAX) {
      const reason = `is wrapped more than ${SNS_LAYERS_MAX} times`;
      return { kind: "undecodable", problem: { path, reason }, layers };
    }
    layers.push(wrapped.layer);
    text = wrapped.message;
  }
}

/** Most bodies are not envelopes; this tells without parsing them. */
function envelopeIn(text: string) {
  if (!text.includes('"TopicArn"')) return undefined;
  const parsed = parseStrictJson(text);
  const value = parsed.kind === "value" ? asObject(parsed.value) : undefined;
  return value === undefined ? undefined : readSnsEnvelope(value);
}
