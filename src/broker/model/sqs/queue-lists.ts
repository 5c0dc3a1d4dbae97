// QueueLists: lists queues, or the messages of one, without receiving anything.

import { SQS_LIST_PAGE_MAX } from "../../../core/limits.ts";
import { type Result, succeed } from "../../../core/result.ts";
import type { EpochMs } from "../../../core/units.ts";
import type { BrokerState } from "../broker-state.ts";
import { type Fault, refuse } from "../fault.ts";
import type { OperationInput, OperationOutput, PageInput, PeekedMessage } from "../operations.ts";
import type { ModelStep } from "../step.ts";
import { parseDetail } from "./message-detail.ts";
import type { QueueState } from "./queue.ts";
import { missingQueue } from "./queue-faults.ts";
import { SlotState } from "./schedule/message-slab.ts";

interface NamePage {
  names: string[];
  nextToken: string | null;
}

/** A page of sorted names; the token is the last name of the previous page. */
function pageOf(names: readonly string[], page: PageInput | null): Result<NamePage, Fault> {
  const sorted = [...names].sort();
  if (page === null) return succeed({ names: sorted.slice(0, SQS_LIST_PAGE_MAX), nextToken: null });
  let start = 0;
  if (page.token !== null) {
    const last = Buffer.from(page.token, "base64url").toString();
    if (Buffer.from(last).toString("base64url") !== page.token) {
      return refuse("InvalidParameterValue", "Invalid or expired next token.");
    }
    start = sorted.findIndex((name) => name > last);
    if (start < 0) start = sorted.length;
  }
  const chosen = sorted.slice(start, start + page.limit);
  const more = start + chosen.length < sorted.length;
  const nextToken = more ? Buffer.from(chosen.at(-1) ?? "").toString("base64url") : null;
  return succeed({ names: chosen, nextToken });
}

export function stepListQueues(
  state: BrokerState,
  _step: ModelStep,
  input: OperationInput<"listQueues">,
): Result<NamePage, Fault> {
  const names = [...state.queues.keys()].filter((name) => name.startsWith(input.prefix));
  return pageOf(names, input.page);
}

export function listDeadLetterSources(
  state: BrokerState,
  _step: ModelStep,
  input: OperationInput<"listDeadLetterSources">,
): Result<NamePage, Fault> {
  if (!state.queues.has(input.queue)) return missingQueue();
  const arn = state.arnOf(input.queue);
  const sources = [...state.queues.values()].filter(
    (queue) => queue.settings.redrive?.targetArn === arn,
  );
  return pageOf(
    sources.map((queue) => queue.record.name),
    input.page,
  );
}

export function countQueues(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"countQueues">,
): Result<OperationOutput<"countQueues">, Fault> {
  const chosen = [...state.queues.values()].filter((queue) =>
    queue.record.name.startsWith(input.prefix),
  );
  const queues = chosen.map((queue) => {
    state.advance(queue, step);
    return {
      name: queue.record.name,
      fifo: queue.fifo,
      visible: queue.visible,
      delayed: queue.delayed,
      inFlight: queue.inFlight,
      oldestSentAt: queue.oldestSentAt,
    };
  });
  return succeed({ queues });
}

/** Messages in the order of their numbers, one page at a time. Walks the whole queue once. */
export function peek(
  state: BrokerState,
  step: ModelStep,
  input: OperationInput<"peek">,
): Result<OperationOutput<"peek">, Fault> {
  const queue = state.open(input.queue, step);
  if (queue === undefined) return missingQueue();
  const { slab } = state;
  const slots = firstAfter(queue, input.afterSeq, input.limit + 1);
  const page = slots.slice(0, input.limit);
  const last = page.at(-1);
  const more = last !== undefined && slots.length > page.length;
  return succeed({
    messages: page.map((slot) => peekAt(state, step, queue, slot)),
    nextAfterSeq: more ? slab.seq.get(last) : null,
  });
}

/** The slots with the `count` lowest numbers above `afterSeq`, in order. */
function firstAfter(queue: QueueState, afterSeq: number, count: number): number[] {
  const { seq } = queue.slab;
  const slots: number[] = [];
  let highest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < queue.total; index += 1) {
    const slot = queue.ages.at(index);
    const number = seq.get(slot);
    if (number <= afterSeq || number >= highest) continue;
    let position = slots.length;
    while (position > 0 && seq.get(slots[position - 1] as number) > number) position -= 1;
    slots.splice(position, 0, slot);
    if (slots.length > count) slots.pop();
    if (slots.length === count) highest = seq.get(slots[count - 1] as number);
  }
  return slots;
}

function peekAt(
  state: BrokerState,
  step: ModelStep,
  queue: QueueState,
  slot: number,
): PeekedMessage {
  const { slab } = state;
  const content = step.read(slab.seq.get(slot));
  const slotState = slab.state.get(slot);
  const hidden = slotState === SlotState.inFlight ? "in-flight" : "delayed";
  const { attributes, unsigned } = parseDetail(content.detail);
  return {
    seq: slab.seq.get(slot),
    messageId: content.id,
    body: content.body,
    attributes,
    groupId: queue.groupOf(slot),
    state: slotState === SlotState.ready ? "visible" : hidden,
    sentAt: slab.sentAt.get(slot) as EpochMs,
    dueAt: slab.dueAt.get(slot) as EpochMs,
    receiveCount: slab.receiveCount.get(slot),
    ...(unsigned === undefined ? {} : { unsigned }),
  };
}
