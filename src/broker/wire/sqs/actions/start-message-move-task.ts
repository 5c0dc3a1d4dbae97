// StartMessageMoveTask: moves dead letters back to their source queues, or to another queue.

import { SQS_MOVE_MESSAGES_PER_SECOND_MAX } from "../../../../core/limits.ts";
import { succeed } from "../../../../core/result.ts";
import { action } from "../../protocol/call.ts";
import { checkRange, missing } from "../../protocol/parameters.ts";
import { integerShape, structureShape, textShape } from "../../protocol/shape.ts";

export const startMessageMoveTask = action({
  name: "StartMessageMoveTask",
  input: structureShape({
    SourceArn: textShape,
    DestinationArn: textShape,
    MaxNumberOfMessagesPerSecond: integerShape,
  }),
  output: structureShape({ TaskHandle: textShape }),
  async run(call, input) {
    const { SourceArn: sourceArn, MaxNumberOfMessagesPerSecond: perSecondMax } = input;
    if (!sourceArn) return missing("SourceArn");
    const refused = checkRange(
      perSecondMax,
      "MaxNumberOfMessagesPerSecond",
      1,
      SQS_MOVE_MESSAGES_PER_SECOND_MAX,
      `Must be between 1 and ${SQS_MOVE_MESSAGES_PER_SECOND_MAX}, if provided.`,
    );
    if (refused !== null) return refused;
    const start = {
      sourceArn,
      destinationArn: input.DestinationArn ?? null,
      perSecondMax: perSecondMax ?? null,
    };
    const outcome = await call.server.broker.submit("startMoveTask", start);
    return outcome.ok ? succeed({ TaskHandle: outcome.value.handle }) : outcome;
  },
});
