// StartMessageMoveTask: sends dead letters back, or on to another queue.

import { done } from "../../model/fault.ts";
import { action } from "../call.ts";
import { checkRange, missing } from "../parameters.ts";
import { integer, structure, text } from "../shape.ts";

const PER_SECOND_MAX = 500;

export const startMessageMoveTask = action({
  name: "StartMessageMoveTask",
  input: structure({
    SourceArn: text,
    DestinationArn: text,
    MaxNumberOfMessagesPerSecond: integer,
  }),
  output: structure({ TaskHandle: text }),
  async run(call, input) {
    const { SourceArn: sourceArn, MaxNumberOfMessagesPerSecond: perSecondMax } = input;
    if (!sourceArn) return missing("SourceArn");
    const refused = checkRange(
      perSecondMax,
      "MaxNumberOfMessagesPerSecond",
      1,
      PER_SECOND_MAX,
      `Must be between 1 and ${PER_SECOND_MAX}, if provided.`,
    );
    if (refused !== null) return refused;
    const start = {
      sourceArn,
      destinationArn: input.DestinationArn ?? null,
      perSecondMax: perSecondMax ?? null,
    };
    const outcome = await call.site.broker.submit("startMoveTask", start);
    return outcome.ok ? done({ TaskHandle: outcome.value.handle }) : outcome;
  },
});
