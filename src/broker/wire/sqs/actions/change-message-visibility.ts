// ChangeMessageVisibility: how much longer a received message stays hidden.

import { seconds } from "../../../../core/units.ts";
import { done } from "../../../model/fault.ts";
import { action } from "../../protocol/call.ts";
import { checkNewVisibility, missing } from "../../protocol/parameters.ts";
import { integer, structure, text } from "../../protocol/shape.ts";
import { queueOf } from "../queue-url.ts";

export const changeMessageVisibility = action({
  name: "ChangeMessageVisibility",
  input: structure({ QueueUrl: text, ReceiptHandle: text, VisibilityTimeout: integer }),
  output: null,
  async run(call, input) {
    const queue = queueOf(call, input.QueueUrl);
    if (typeof queue !== "string") return queue;
    const { ReceiptHandle: handle, VisibilityTimeout: timeout } = input;
    if (!handle) return missing("ReceiptHandle");
    if (timeout === undefined || timeout === null) return missing("VisibilityTimeout");
    const refused = checkNewVisibility(timeout);
    if (refused !== null) return refused;
    const change = { queue, entries: [{ handle, visibilityMs: seconds(timeout) }] };
    const { broker } = call.site;
    const outcome = await broker.submit("changeVisibility", change);
    if (!outcome.ok) return outcome;
    const fault = outcome.value.faults[0]!;
    return fault === null ? done(null) : { ok: false, fault };
  },
});
