import fc from "fast-check";
import { expect, test } from "vitest";
import { entry, ModelBench } from "../../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../../core/units.ts";
import type { ReceivedCopy } from "../../operations.ts";

const Q = "q";

function send(bench: ModelBench, groupId: string | null, count: number): void {
  for (let remaining = count; remaining > 0; remaining -= 1) bench.send(Q, entry("x", { groupId }));
}

/** Receives `count` messages, ten at a time. */
function receive(bench: ModelBench, count: number, visibilityMs = 300_000): ReceivedCopy[] {
  const got: ReceivedCopy[] = [];
  while (got.length < count) {
    const max = Math.min(10, count - got.length);
    got.push(...bench.receive(Q, { max, visibilityMs: durationMs(visibilityMs) }));
  }
  return got;
}

const tenantOf = (bench: ModelBench) => bench.receive(Q, { max: 1 })[0]?.groupId;

function createBench(): ModelBench {
  const bench = new ModelBench();
  bench.create(Q);
  return bench;
}

test("without noisy tenants, messages go out in the order they arrived", () => {
  const bench = createBench();
  for (const groupId of ["a", "b", null, "a", "c"]) bench.send(Q, entry("x", { groupId }));
  const groups = bench.receive(Q).map(({ groupId }) => groupId);
  expect(groups).toEqual(["a", "b", null, "a", "c"]);
});

test("a tenant with thirty in flight and more than a tenth of them comes after the quiet ones", () => {
  const bench = createBench();
  send(bench, "loud", 40);
  receive(bench, 30);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("calm");
  expect(tenantOf(bench)).toBe("loud"); // It is not starved: the rest of its messages go out.
});

test("a tenant with twenty-nine in flight is not noisy yet", () => {
  const bench = createBench();
  send(bench, "busy", 40);
  receive(bench, 29);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("busy");
});

test("a tenant with thirty in flight, but no more than a tenth of them, is not noisy", () => {
  const bench = createBench();
  send(bench, null, 270);
  receive(bench, 270);
  send(bench, "big", 31);
  receive(bench, 30); // Thirty of three hundred.
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("big");
});

test("messages without a group are never noisy, however many are in flight (Q1)", () => {
  const bench = createBench();
  send(bench, null, 100);
  receive(bench, 90);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe(null);
});

test("a tenant that used more than a tenth of the processing time is noisy", () => {
  const bench = createBench();
  send(bench, "slow", 3);
  const [first] = receive(bench, 1);
  bench.pass(20_000);
  bench.delete(Q, first as ReceivedCopy);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("calm");
});

test("a tenant that used no more than a tenth of the processing time is quiet", () => {
  const bench = createBench();
  send(bench, null, 9);
  send(bench, "fair", 3);
  const deliveries = receive(bench, 10); // Nine singles and one of the tenant.
  bench.pass(1_000);
  bench.delete(Q, ...deliveries);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("fair");
});

test("a receive that timed out counts as work until its timeout, not until the next request", () => {
  const bench = createBench();
  send(bench, null, 10);
  const singles = receive(bench, 10);
  bench.pass(10_000);
  bench.delete(Q, ...singles); // A hundred seconds of work in all.
  send(bench, "fair", 3);
  receive(bench, 1, 1_000);
  bench.pass(60_000);
  expect(bench.counts(Q)).toEqual([3, 0, 0]); // The tenant has used one second.
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("fair");
});

test("among the noisy the one with the fewest in flight goes first (Q4)", () => {
  const bench = createBench();
  send(bench, "a", 40);
  receive(bench, 35);
  send(bench, "b", 40);
  receive(bench, 40 - 8); // b is quiet until its thirtieth, and goes first until then.
  const groups = bench.receive(Q, { max: 10 }).map(({ groupId }) => groupId);
  // Thirty-five of a and thirty-two of b are in flight; at a tie the older message decides.
  expect(groups).toEqual(["b", "b", "b", "a", "b", "a", "b", "a", "b", "a"]);
});

test("a tenant becomes quiet when its backlog is gone (Q3)", () => {
  const bench = createBench();
  send(bench, "loud", 35);
  bench.delete(Q, ...receive(bench, 35));
  send(bench, "loud", 1);
  send(bench, "calm", 1);
  expect(tenantOf(bench)).toBe("loud");
});

test("a tenant becomes quiet after five minutes without sending (Q3)", () => {
  for (const [silentMs, next] of [
    [299_999, "calm"],
    [300_000, "loud"],
  ] as const) {
    const bench = createBench();
    send(bench, "loud", 40);
    receive(bench, 35, 600_000);
    bench.pass(silentMs);
    send(bench, "calm", 1);
    expect(tenantOf(bench)).toBe(next);
  }
});

test("a silent tenant becomes quiet even while a noisier one with fewer in flight continues", () => {
  const bench = createBench();
  send(bench, "silent", 60);
  receive(bench, 45, 3_600_000);
  bench.pass(299_000);
  send(bench, "loud", 60);
  receive(bench, 31, 3_600_000);
  bench.pass(1_000);
  expect(tenantOf(bench)).toBe("silent");
});

test("all messages go out exactly once, whatever the tenants do", () => {
  const anyMove = fc.oneof(
    fc.record({ send: fc.constantFrom("a", "b", null), count: fc.integer({ min: 1, max: 45 }) }),
    fc.record({ receive: fc.integer({ min: 1, max: 40 }) }),
    fc.record({ finish: fc.integer({ min: 1, max: 40 }), passMs: fc.nat(400_000) }),
  );
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 40 }), (moves) => {
      const bench = createBench();
      const held: ReceivedCopy[] = [];
      const delivered = new Set<string>();
      let sent = 0;
      const take = (max: number) => {
        const visibilityMs = durationMs(43_200_000);
        const got = bench.receive(Q, { max, visibilityMs });
        for (const { messageId } of got) expect(delivered.has(messageId)).toBe(false);
        for (const delivery of got) delivered.add(delivery.messageId);
        held.push(...got);
        return got.length;
      };
      for (const move of moves) {
        if ("send" in move) {
          send(bench, move.send, move.count);
          sent += move.count;
        } else if ("receive" in move) {
          for (let remaining = move.receive; remaining > 0; remaining -= 10)
            take(Math.min(10, remaining));
        } else {
          bench.pass(move.passMs);
          bench.delete(Q, ...held.splice(0, move.finish));
        }
      }
      while (take(10) > 0);
      expect(delivered.size).toBe(sent);
    }),
    { numRuns: 60 },
  );
});
