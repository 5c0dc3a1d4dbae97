// GET /_tidegate/queues/NAME/messages: shows the messages of a queue without receiving them.

import { adminError, adminFault, adminReply } from "./admin-reply.ts";
import { type AdminCall, adminRoute } from "./admin-route.ts";

const LIMIT_DEFAULT = 20;
const LIMIT_MAX = 100;

export const messages = adminRoute({
  path: "queues/NAME/messages",
  summary:
    "the messages of a queue, oldest first, without receiving them; " +
    `?after= and ?limit= (1 to ${LIMIT_MAX}) page`,
  methods: { GET: peek },
});

async function peek({ server, parameters, name }: AdminCall) {
  const limit = readCount(parameters.get("limit"), LIMIT_DEFAULT);
  if (limit === null || limit < 1 || limit > LIMIT_MAX) {
    return adminError(400, "InvalidLimit", `limit must be an integer from 1 to ${LIMIT_MAX}`);
  }
  const afterSeq = readCount(parameters.get("after"), 0);
  if (afterSeq === null) {
    return adminError(400, "InvalidAfter", "after must be the nextAfter of a previous page");
  }
  const input = { queue: name, afterSeq, limit };
  const outcome = await server.broker.submit("peek", input);
  if (!outcome.ok) return adminFault(outcome.fault);
  const { messages, nextAfterSeq } = outcome.value;
  return adminReply(200, { queue: name, messages, nextAfter: nextAfterSeq });
}

function readCount(text: string | null, fallback: number): number | null {
  if (text === null || text === "") return fallback;
  return /^\d{1,15}$/.test(text) ? Number(text) : null;
}
