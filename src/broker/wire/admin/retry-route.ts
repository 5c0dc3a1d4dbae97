// POST /_tidegate/queues/NAME/retry: makes a hidden message visible now.

import type { OperationResult } from "../../model/operations.ts";
import { decodeUtf8 } from "../protocol/utf8.ts";
import { adminError, adminFault, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

const PAGE = 1_000;

export const retryRoute = adminRoute({
  path: "queues/NAME/retry",
  summary: 'POST {"messageId": id} makes a hidden message visible now',
  methods: { POST: showNow },
});

async function showNow({ server, request, name: queue }: AdminCall) {
  const messageId = readId(decodeUtf8(request.body));
  if (messageId === null) {
    return adminError(400, "InvalidMessageId", 'the body must be {"messageId": id}');
  }
  for (let afterSeq: number | null = 0; afterSeq !== null; ) {
    const page: OperationResult<"peek"> = await server.broker.submit("peek", {
      queue,
      afterSeq,
      limit: PAGE,
    });
    if (!page.ok) return adminFault(page.fault);
    const message = page.value.messages.find((each) => each.messageId === messageId);
    if (message !== undefined) {
      const outcome = await server.broker.submit("reveal", { queue, seq: message.seq });
      if (!outcome.ok) return adminFault(outcome.fault);
      return adminReply(200, { queue, messageId, revealed: outcome.value.revealed });
    }
    afterSeq = page.value.nextAfterSeq;
  }
  return adminError(404, "UnknownMessage", `the queue ${queue} has no message ${messageId}`);
}

function readId(text: string | null): string | null {
  try {
    const { messageId } = JSON.parse(text ?? "") as { messageId?: unknown };
    return typeof messageId === "string" && messageId !== "" ? messageId : null;
  } catch {
    return null;
  }
}
