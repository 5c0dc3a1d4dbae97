import { buildEnvelope } from "tidegate/produce";
import type { ProducerUnderTest } from "tidegate/testkit";

const produce: ProducerUnderTest = (event) => {
  const built = buildEnvelope(event);
  if (built.kind === "invalid") throw new Error(JSON.stringify(built.problems));
  return {
    body: built.value.body, // canonical: the same bytes however often it is built
    dedupId: built.value.dedupId, // of source and dedupe_key
    groupId: event.source,
    attributes: { traceparent: event.traceparent },
  };
};

export default produce;
