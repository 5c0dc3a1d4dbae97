import fc from "fast-check";
import { expect, test } from "vitest";
import { inGroup, ModelBench } from "../../../../../test/support/broker/model-bench.ts";
import { durationMs } from "../../../../core/units.ts";
import type { ReceivedCopy } from "../../operations.ts";
import { FifoSchedule } from "./fifo-schedule.ts";
import { MessageSlab, SlotState } from "./message-slab.ts";

const Q = "q.fifo";

function benchWith(...messages: string[]): ModelBench {
  const bench = new ModelBench();
  bench.create(Q);
  // The group is the part before the dash.
  const groupOf = (body: string) => body.slice(0, body.indexOf("-"));
  for (const body of messages) bench.send(Q, inGroup(groupOf(body), body));
  return bench;
}

test("one receive fills from a group before it turns to the next, in order of arrival (F4)", () => {
  const bench = benchWith("g1-m1", "g2-m1", "g1-m2", "g1-m3", "g3-m1");
  expect(bench.bodies(Q, { max: 4 })).toEqual(["g1-m1", "g1-m2", "g1-m3", "g2-m1"]);
  expect(bench.bodies(Q)).toEqual(["g3-m1"]);
});

test("while a message of a group is in flight, no other of the group goes out, not even new ones", () => {
  const bench = benchWith("a-1", "a-2", "b-1");
  expect(bench.bodies(Q, { max: 1 })).toEqual(["a-1"]);
  bench.send(Q, inGroup("a", "a-3"));
  expect(bench.bodies(Q)).toEqual(["b-1"]);
  expect(bench.counts(Q)).toEqual([2, 2, 0]); // The blocked ones count as visible.
});

test("a group is unblocked once all its messages in flight are deleted, not before", () => {
  const bench = benchWith("a-1", "a-2", "a-3");
  const [one, two] = bench.receive(Q, { max: 2 }) as [ReceivedCopy, ReceivedCopy];
  bench.delete(Q, two);
  expect(bench.bodies(Q)).toEqual([]);
  bench.delete(Q, one);
  expect(bench.bodies(Q)).toEqual(["a-3"]);
});

test("after a timeout the messages return in their original order", () => {
  const bench = benchWith("a-1", "a-2", "a-3");
  bench.receive(Q, { max: 2 });
  bench.pass(30_000);
  expect(bench.bodies(Q)).toEqual(["a-1", "a-2", "a-3"]);
});

test.each([
  { extended: 0, back: [] },
  { extended: 1, back: ["a-1"] },
  { extended: 2, back: ["a-1", "a-2"] },
])("when message $extended is extended, only those before it return: $back", (row) => {
  const bench = benchWith("a-1", "a-2", "a-3", "a-4");
  const deliveries = bench.receive(Q, { max: 3 });
  bench.change(Q, deliveries[row.extended] as ReceivedCopy, 100_000);
  bench.pass(30_000);
  expect(bench.bodies(Q)).toEqual(row.back);
});

test("ending the visibility of the first of two frees that one only; others go before", () => {
  const bench = benchWith("a-1", "a-2", "b-1");
  const [one] = bench.receive(Q, { max: 2 }) as [ReceivedCopy];
  bench.change(Q, one, 0);
  expect(bench.bodies(Q)).toEqual(["b-1", "a-1"]);
});

test("a served group goes to the back of the line (F3)", () => {
  const bench = benchWith("a-1", "a-2", "b-1", "b-2", "c-1");
  bench.delete(Q, ...bench.receive(Q, { max: 1 }));
  expect(bench.bodies(Q, { max: 1 })).toEqual(["b-1"]);
  expect(bench.bodies(Q, { max: 1 })).toEqual(["c-1"]);
  expect(bench.bodies(Q, { max: 1 })).toEqual(["a-2"]);
});

test("a visibility timeout of zero shows the same messages again, in the same order", () => {
  const bench = benchWith("a-1", "a-2", "a-3");
  const visibilityMs = durationMs(0);
  expect(bench.bodies(Q, { visibilityMs, max: 2 })).toEqual(["a-1", "a-2"]);
  expect(bench.bodies(Q, { visibilityMs })).toEqual(["a-1", "a-2", "a-3"]);
});

test("a delayed message blocks the messages behind it (F2)", () => {
  const slab = new MessageSlab();
  const schedule = new FifoSchedule(slab);
  const [delayed, ready] = [slab.allocate(), slab.allocate()];
  slab.state.set(delayed, SlotState.delayed);
  schedule.add(delayed, "g");
  slab.state.set(ready, SlotState.ready);
  schedule.add(ready, "g");
  expect(schedule.openReceive().next()).toBe(0);
  slab.state.set(delayed, SlotState.ready);
  schedule.release(delayed);
  const cursor = schedule.openReceive();
  expect(cursor.next()).toBe(delayed);
});

test("the index of an empty group is reused by the next group", () => {
  const slab = new MessageSlab();
  const schedule = new FifoSchedule(slab);
  const add = (name: string) => {
    const slot = slab.allocate();
    slab.state.set(slot, SlotState.ready);
    schedule.add(slot, name);
    return slot;
  };
  const [a, b] = [add("a"), add("b")];
  const index = slab.group.get(a);
  schedule.remove(a);
  const c = add("c");
  expect(slab.group.get(c)).toBe(index);
  expect([b, c].map((slot) => schedule.groupOf(slot))).toEqual(["b", "c"]);
  schedule.remove(b);
  schedule.remove(c);
  expect(schedule.openReceive().next()).toBe(0);
});

/** The deliverable messages, computed the slow way from the whole list. */
function deliverable(waiting: { group: string; body: string; hiddenUntil: number }[], now: number) {
  const blocked = new Set<string>();
  return waiting.filter((message) => {
    if (message.hiddenUntil > now) blocked.add(message.group);
    return !blocked.has(message.group);
  });
}

const anyMove = fc.oneof(
  fc.record({ send: fc.constantFrom("a", "b", "c") }),
  fc.record({ receive: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ remove: fc.nat() }),
  fc.record({ show: fc.nat() }),
  fc.record({ passMs: fc.integer({ min: 1, max: 40_000 }) }),
);

test("only unblocked messages go out, in the order of their group, whatever happens", () => {
  fc.assert(
    fc.property(fc.array(anyMove, { maxLength: 60 }), (moves) => {
      const bench = benchWith();
      const waiting: { group: string; body: string; hiddenUntil: number }[] = [];
      const held = new Map<string, ReceivedCopy>();
      let sent = 0;
      for (const move of moves) {
        const bodies = [...held.keys()];
        if ("send" in move) {
          sent += 1;
          bench.send(Q, inGroup(move.send, `${sent}`));
          waiting.push({ group: move.send, body: `${sent}`, hiddenUntil: 0 });
        } else if ("receive" in move) {
          const may = deliverable(waiting, bench.now);
          const got = bench.receive(Q, { max: move.receive });
          expect(got.length).toBe(Math.min(move.receive, may.length));
          for (const group of ["a", "b", "c"]) {
            const expected = may.filter((message) => message.group === group);
            const received = got.filter(({ groupId }) => groupId === group);
            expect(received.map(({ body }) => body)).toEqual(
              expected.slice(0, received.length).map(({ body }) => body),
            );
          }
          for (const delivery of got) {
            held.set(delivery.body, delivery);
            const message = waiting.find(({ body }) => body === delivery.body);
            if (message) message.hiddenUntil = bench.now + 30_000;
          }
        } else if ("passMs" in move) {
          bench.pass(move.passMs);
        } else if (bodies.length > 0) {
          const removes = "remove" in move;
          const body = bodies[(removes ? move.remove : move.show) % bodies.length] as string;
          const index = waiting.findIndex((message) => message.body === body);
          const message = waiting[index];
          if (message === undefined || message.hiddenUntil <= bench.now) continue;
          const delivery = held.get(body) as ReceivedCopy;
          if (removes) {
            expect(bench.delete(Q, delivery)).toEqual([null]);
            waiting.splice(index, 1);
            held.delete(body);
          } else {
            expect(bench.change(Q, delivery, 0)).toBe(null);
            message.hiddenUntil = 0;
          }
        }
        const inFlight = waiting.filter(({ hiddenUntil }) => hiddenUntil > bench.now).length;
        expect(bench.counts(Q)).toEqual([waiting.length - inFlight, inFlight, 0]);
      }
    }),
    { numRuns: 150 },
  );
});
