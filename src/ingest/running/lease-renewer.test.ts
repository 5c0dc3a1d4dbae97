import { afterEach, beforeEach, expect, test } from "vitest";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import { createBrokerQueue } from "../../cloud/broker-queue.ts";
import { openCloud, type VirtualOpenCloud } from "../../cloud/open-cloud.ts";
import { present } from "../../core/assert.ts";
import { TidegateError } from "../../core/errors.ts";
import { addMs, type DurationMs, durationMs, hours, minutes, seconds } from "../../core/units.ts";
import { asRecordKey } from "../../ledger/record-state.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LeaseRenewer } from "../../ports/lease-renewer.ts";
import type { Ledger } from "../../ports/ledger.ts";
import type { Queue, QueueReceiver } from "../../ports/queue-receiver.ts";
import { createMemoryLedger } from "../../stores/memory/ledger.ts";
import { SILENT } from "../telemetry/silent-telemetry.ts";
import { createLeaseRenewer } from "./lease-renewer.ts";

const V = seconds(60);
const SCOPE = { pipeline: "p", generation: 1 };
const OWNER = { owner: "me", leaseMs: seconds(30) };
const key = asRecordKey("k1:a");
const never = new AbortController().signal;

let cloud: VirtualOpenCloud;
let queue: Queue;
let ledger: Ledger;
/** The size of every batch of renewals. */
let calls: number[];
/** The lost leases: receipt, reason, and time since the start. */
let lost: { receipt: string; reason: string; afterMs: number }[];
let startedAt: number;
const renewers: LeaseRenewer[] = [];

beforeEach(async () => {
  cloud = await openCloud({ clock: "virtual", setup: { queues: [{ name: "q" }] } });
  queue = createBrokerQueue(cloud.broker, { queue: "q" });
  ledger = createMemoryLedger({ clock: cloud.clock });
  calls = [];
  lost = [];
  startedAt = cloud.clock.now();
});
afterEach(async () => {
  for (const renewer of renewers.splice(0)) await renewer.close();
  await cloud.close();
});

type ChangeVisibility = QueueReceiver["changeVisibility"];

/** A renewer on the virtual clock; `around` wraps its calls to the queue. */
function keep(
  options: {
    visibilityMs?: DurationMs;
    around?: (next: ChangeVisibility) => ChangeVisibility;
    clock?: Clock;
    loopQueue?: boolean;
  } = {},
): LeaseRenewer {
  const { visibilityMs = V, around = (next) => next, clock = cloud.clock } = options;
  const { loopQueue = false } = options;
  const changeVisibility = around(queue.changeVisibility);
  const counted: ChangeVisibility = (changes) => {
    calls.push(changes.length);
    return changeVisibility(changes);
  };
  const ports = {
    queue: { name: "q", changeVisibility: counted },
    ledger,
    scope: SCOPE,
    clock,
    telemetry: SILENT,
  };
  const terms = { visibilityMs, leaseMs: OWNER.leaseMs, loopQueue };
  const renewer = createLeaseRenewer(ports, terms);
  renewers.push(renewer);
  return renewer;
}

async function receive(count: number, visibilityMs: DurationMs = V): Promise<string[]> {
  for (let at = 0; at < count; at += 1) {
    await queue.sendBatch([{ body: String(at), attributes: {}, groupId: null, dedupId: null }]);
  }
  const receipts: string[] = [];
  while (receipts.length < count) {
    const request = { max: 10, waitMs: seconds(0), visibilityMs };
    for (const { receipt } of await queue.receive(request, never)) receipts.push(receipt);
  }
  return receipts;
}

function hold(renewer: LeaseRenewer, receipts: readonly string[]): void {
  for (const receipt of receipts) {
    renewer.track({ receipt, since: cloud.clock.now() }, (reason) => {
      lost.push({ receipt, reason, afterMs: cloud.clock.now() - startedAt });
    });
  }
}

const visible = async () => (await queue.facts()).visible;

test("tracked deliveries stay hidden, at one request per ten deliveries and third of the timeout (K1)", async () => {
  const renewer = keep();
  const receipts = await receive(20);
  hold(renewer, receipts);
  await cloud.clock.advance(10 * V);
  expect(await visible()).toBe(0);
  expect(lost).toEqual([]);
  expect(receipts.every((receipt) => renewer.alive(receipt))).toBe(true);
  expect(calls).toEqual(Array.from({ length: 2 * 30 }, () => 10));
});

test("deliveries received one after the other soon share their renewal requests", async () => {
  const renewer = keep();
  for (let at = 0; at < 5; at += 1) {
    hold(renewer, await receive(1));
    await cloud.clock.advance(1_000);
  }
  await cloud.clock.advance(V);
  expect(calls.length).toBeLessThanOrEqual(4);
  expect(lost).toEqual([]);
});

test("a released delivery is not renewed, and releasing it again does nothing (K3)", async () => {
  const renewer = keep();
  const receipts = await receive(2);
  hold(renewer, receipts);
  const [first = ""] = receipts;
  renewer.release(first);
  renewer.release(first);
  renewer.release("never held");
  expect(renewer.alive(first)).toBe(false);
  await cloud.clock.advance(V);
  expect(await visible()).toBe(1);
  expect(lost).toEqual([]);
  expect(new Set(calls)).toEqual(new Set([1]));
});

test("a dead receipt loses its lease immediately, and no other lease (K2)", async () => {
  const renewer = keep();
  const receipts = await receive(3);
  hold(renewer, receipts);
  const [, second = ""] = receipts;
  await queue.deleteBatch([second]);
  await cloud.clock.advance(3 * V);
  expect(lost).toEqual([
    { receipt: second, reason: expect.stringMatching(/does not exist/), afterMs: V / 3 },
  ]);
  expect(receipts.map((receipt) => renewer.alive(receipt))).toEqual([true, false, true]);
});

test("a short outage of the queue loses no lease (H3)", async () => {
  const renewer = keep();
  const [receipt = ""] = await receive(1);
  hold(renewer, [receipt]);
  cloud.broker.faults.put({ kind: "unavailable", target: { queue: "q" }, probability: 1 });
  await cloud.clock.advance(45_000);
  expect(renewer.alive(receipt)).toBe(true);
  expect(calls.length).toBeGreaterThan(5);
  cloud.broker.faults.clear();
  await cloud.clock.advance(10 * V);
  expect(lost).toEqual([]);
  expect(await visible()).toBe(0);
});

test("a lasting outage loses every lease before other consumers can receive the messages", async () => {
  const renewer = keep();
  const receipts = await receive(2);
  hold(renewer, receipts);
  cloud.broker.faults.put({ kind: "throttle", target: { queue: "q" }, probability: 1 });
  await cloud.clock.advance(47_999);
  expect(receipts.every((receipt) => renewer.alive(receipt))).toBe(true);
  await cloud.clock.advance(1);
  expect(lost.map(({ receipt }) => receipt)).toEqual(receipts);
  expect(lost.every(({ afterMs }) => afterMs === 48_000)).toBe(true);
  const asked = calls.length;
  cloud.broker.faults.clear();
  await cloud.clock.advance(10 * V);
  expect(calls).toHaveLength(asked);
  expect(lost).toHaveLength(2);
});

test("a failed entry is retried without the others", async () => {
  let failures = 0;
  const around = (next: ChangeVisibility): ChangeVisibility => {
    return async (changes) => {
      const outcomes = await next(changes);
      if (failures > 0) return outcomes;
      failures += 1;
      return outcomes.map((outcome, at) =>
        at === 1 ? { kind: "failed", reason: "InternalError" } : outcome,
      );
    };
  };
  const renewer = keep({ around });
  const receipts = await receive(3);
  hold(renewer, receipts);
  await cloud.clock.advance(V / 3 + V / 20);
  expect(calls).toEqual([3, 1]);
  expect(receipts.every((receipt) => renewer.alive(receipt))).toBe(true);
});

test("a request that hangs delays no other, and loses only its own leases (H2)", async () => {
  let asked = 0;
  const around = (next: ChangeVisibility): ChangeVisibility => {
    return (changes) => {
      asked += 1;
      return asked === 1 ? new Promise(() => {}) : next(changes);
    };
  };
  const renewer = keep({ around });
  const receipts = await receive(20);
  hold(renewer, receipts);
  await cloud.clock.advance(V);
  expect(lost.map(({ receipt }) => receipt)).toEqual(receipts.slice(0, 10));
  expect(receipts.slice(10).every((receipt) => renewer.alive(receipt))).toBe(true);
  renewers.splice(0); // Closing waits for requests in flight; this one never ends.
});

test("a response that is read too late revives no lease, even if it comes before the timer (H1)", async () => {
  let late = false;
  const sleep: Clock["sleep"] = async (span, signal) => {
    await cloud.clock.sleep(span, signal);
    if (late) await new Promise(() => {});
  };
  const around = (next: ChangeVisibility): ChangeVisibility => {
    return async (changes) => {
      if (cloud.clock.now() - startedAt < 45_000) throw new Error("the network is down");
      late = true;
      await cloud.clock.sleep(seconds(20));
      return next(changes);
    };
  };
  const { now, monotonic } = cloud.clock;
  const renewer = keep({ around, clock: { now, monotonic, sleep } });
  const [receipt = ""] = await receive(1);
  hold(renewer, [receipt]);
  await cloud.clock.advance(47_000);
  expect(late).toBe(true);
  await cloud.clock.advance(20_000);
  expect(await visible()).toBe(0); // The queue accepted the old receipt and hid the message again.
  expect(renewer.alive(receipt)).toBe(false);
  expect(lost).toMatchObject([{ receipt, afterMs: 67_000 }]);
});

test.each([true, false])(
  "a stalled event loop, with the queue on it: %j (H4)",
  async (loopQueue) => {
    let stalledMs = 0;
    const clock: Clock = {
      now: () => addMs(cloud.clock.now(), durationMs(stalledMs)),
      monotonic: () => durationMs(cloud.clock.monotonic() + stalledMs),
      sleep: (span, signal) => cloud.clock.sleep(span, signal),
    };
    const renewer = keep({ clock, loopQueue });
    const [receipt = ""] = await receive(1);
    hold(renewer, [receipt]);
    await cloud.clock.advance(1_000);
    stalledMs = 2 * V; // No timer fires meanwhile.
    expect(renewer.alive(receipt)).toBe(loopQueue);
    await cloud.clock.advance(3 * V);
    expect(renewer.alive(receipt)).toBe(loopQueue);
    expect(await visible()).toBe(loopQueue ? 0 : 1);
    expect(lost).toHaveLength(loopQueue ? 0 : 1);
  },
);

test("a lease is renewed until half an hour before SQS would end it (K2)", async () => {
  const visibilityMs = hours(1);
  const refusals: string[] = [];
  const around = (next: ChangeVisibility): ChangeVisibility => {
    return async (changes) => {
      const outcomes = await next(changes);
      for (const outcome of outcomes) if (outcome.kind !== "done") refusals.push(outcome.reason);
      return outcomes;
    };
  };
  const renewer = keep({ visibilityMs, around });
  const [receipt = ""] = await receive(1, visibilityMs);
  hold(renewer, [receipt]);
  await cloud.clock.advance(hours(11) + minutes(30) - 1);
  expect(renewer.alive(receipt)).toBe(true);
  await cloud.clock.advance(1);
  expect(renewer.alive(receipt)).toBe(false);
  expect(lost).toMatchObject([{ reason: "it was held for as long as SQS allows" }]);
  expect(refusals).toEqual([]);
});

async function claim(owner: string) {
  const requests = [{ key, input: ANY_INPUT, receivedAt: cloud.clock.now() }];
  const [result] = await ledger.claim(SCOPE, requests, { ...OWNER, owner });
  return present(result, "an answer to a claim");
}

async function holdWithClaim(renewer: LeaseRenewer, answerMs = 0) {
  const [receipt = ""] = await receive(1);
  hold(renewer, [receipt]);
  const askedAt = cloud.clock.now();
  const result = await claim("me");
  if (result.kind !== "claimed") throw new Error(`the claim was refused: ${result.kind}`);
  const held = { key, fence: result.fence };
  await cloud.clock.advance(answerMs);
  renewer.attach(receipt, held, askedAt);
  return { receipt, held };
}

test("an attached claim lives as long as its delivery, a detached one as long as its lease", async () => {
  const renewer = keep();
  const { receipt, held } = await holdWithClaim(renewer);
  await cloud.clock.advance(minutes(10));
  expect(await claim("other")).toMatchObject({ kind: "busy" });
  expect(renewer.alive(receipt)).toBe(true);
  renewer.detach(receipt, held);
  await cloud.clock.advance(OWNER.leaseMs);
  expect(await claim("other")).toMatchObject({ kind: "claimed" });
  await cloud.clock.advance(minutes(10));
  expect(lost).toEqual([]);
});

test("a delivery loses its lease when another consumer takes over its claim", async () => {
  const renewer = keep();
  const { receipt, held } = await holdWithClaim(renewer);
  await ledger.release(SCOPE, [held]);
  expect(await claim("other")).toMatchObject({ kind: "claimed" });
  await cloud.clock.advance(OWNER.leaseMs / 3);
  expect(lost).toMatchObject([{ receipt, reason: "another consumer has its claim" }]);
  expect(renewer.alive(receipt)).toBe(false);
});

test("a lasting outage of the ledger loses the lease when the claim may have expired", async () => {
  const down = new TidegateError("TG_LEDGER_UNAVAILABLE", "the ledger is down");
  ledger = { ...ledger, claim: ledger.claim, renew: () => Promise.reject(down) };
  const renewer = keep();
  const { receipt } = await holdWithClaim(renewer);
  await cloud.clock.advance(seconds(24) - 1);
  expect(renewer.alive(receipt)).toBe(true);
  await cloud.clock.advance(1);
  expect(lost).toMatchObject([{ receipt, reason: "its claim was not renewed in time" }]);
});

test("a claim starts when the request was sent, however long the response took", async () => {
  const down = new TidegateError("TG_LEDGER_UNAVAILABLE", "the ledger is down");
  ledger = { ...ledger, claim: ledger.claim, renew: () => Promise.reject(down) };
  const renewer = keep();
  const { receipt } = await holdWithClaim(renewer, seconds(10));
  await cloud.clock.advance(seconds(14) - 1);
  expect(renewer.alive(receipt)).toBe(true);
  await cloud.clock.advance(1);
  expect(lost).toMatchObject([{ receipt, reason: "its claim was not renewed in time" }]);
});

test("closing ends the renewals without reporting a lost lease", async () => {
  const renewer = keep();
  const receipts = await receive(1);
  hold(renewer, receipts);
  await renewer.close();
  await cloud.clock.advance(V);
  expect(calls).toEqual([]);
  expect(lost).toEqual([]);
  expect(await visible()).toBe(1);
});
