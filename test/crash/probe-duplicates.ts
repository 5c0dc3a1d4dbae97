// Probe duplicates: after a restart, resends earlier deduplication ids with different bodies.
//   P1. The response must contain the original's ids. A probe's body was never sent as a message,
//       so the next observation finds a probe that was stored despite a correct response.

import type { SeededRandom } from "../../src/core/seeded-random.ts";
import { DEDUP_WINDOW_SURE_MS } from "../support/crash/client.ts";
import { type Shared, sentAnswer } from "../support/crash/client-context.ts";
import { must, type SqsClient } from "../support/crash/sqs-client.ts";
import { answerDuplicate } from "./facts.ts";
import { findQueues } from "./observe.ts";
import { isContentBased } from "./queue-plan.ts";

/** A lost write would show in the latest ones; others are chosen at random. */
const LATEST = 15;
const OTHERS = 10;

export async function probeDuplicates(
  sqs: SqsClient,
  shared: Shared,
  random: SeededRandom,
): Promise<void> {
  const urls = await findQueues(sqs);
  const open = shared.recent.filter(
    (fact) => fact.send === "acked" && Date.now() - fact.sentFromMs < DEDUP_WINDOW_SURE_MS,
  );
  const chosen = new Set(open.slice(-LATEST));
  for (let index = 0; index < OTHERS; index += 1) {
    const fact = random.pick(open);
    if (fact !== undefined) chosen.add(fact);
  }
  for (const fact of chosen) {
    const output = await must(
      sqs.call("SendMessage", {
        QueueUrl: urls.get(fact.queue),
        MessageGroupId: fact.groupId,
        ...(isContentBased(fact.queue)
          ? { MessageBody: fact.body } // Its body is its id; a second copy would be found.
          : { MessageBody: `probe of ${fact.body}`, MessageDeduplicationId: fact.dedupId }),
      }),
    );
    answerDuplicate(shared.facts, fact, sentAnswer(output)); // P1
    shared.counts.probed = (shared.counts.probed ?? 0) + 1;
  }
}
