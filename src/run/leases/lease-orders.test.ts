import fc from "fast-check";
import { expect, test } from "vitest";
import { epochMs } from "../../core/units.ts";
import type { HeldClaim } from "../../ports/lease-renewer.ts";
import { LeaseOrders } from "./lease-orders.ts";
import type { LeaseOrder } from "./lease-thread.ts";

const SINCE = epochMs(1_700_000_000_000);
const slot = fc.integer({ min: 0, max: 3 });
const claim = fc
  .integer({ min: 0, max: 2 })
  .map((at) => ({ key: `k${at}`, fence: at + 1, owner: "o" }) as unknown as HeldClaim);
const anyOrder: fc.Arbitrary<LeaseOrder> = fc.oneof(
  fc.record({
    kind: fc.constant("hold" as const),
    receipt: fc.constantFrom("a", "b", "c"),
    since: fc.constant(SINCE),
    slot,
  }),
  fc.record({ kind: fc.constant("attach" as const), slot, claim, since: fc.constant(SINCE) }),
  fc.record({ kind: fc.constant("detach" as const), slot, claim }),
  fc.record({ kind: fc.constant("drop" as const), slot }),
);

/** What a renewer has after the calls: the claims of each receipt. */
function renewerState() {
  const leases = new Map<string, Set<string>>();
  const calls = {
    track: ({ receipt }: { readonly receipt: string }) => void leases.set(receipt, new Set()),
    attach: (receipt: string, { key }: HeldClaim) => void leases.get(receipt)?.add(key),
    detach: (receipt: string, { key }: HeldClaim) => void leases.get(receipt)?.delete(key),
    release: (receipt: string) => void leases.delete(receipt),
  };
  return { leases, calls };
}

/** The model: the lease of each slot. */
function modelOf(orders: readonly LeaseOrder[]) {
  const slots = new Map<number, { receipt: string; claims: Set<string> }>();
  for (const order of orders) {
    const lease = slots.get(order.slot);
    if (order.kind === "hold") {
      for (const [at, { receipt }] of slots) if (receipt === order.receipt) slots.delete(at); // R3
      slots.set(order.slot, { receipt: order.receipt, claims: new Set() });
    } else if (order.kind === "attach") lease?.claims.add(order.claim.key);
    else if (order.kind === "detach") lease?.claims.delete(order.claim.key);
    else slots.delete(order.slot);
  }
  return slots;
}

test("any orders in any order leave exactly the leases of their slots, and never throw (R1 to R3)", () => {
  fc.assert(
    fc.property(fc.array(anyOrder, { maxLength: 40 }), (orders) => {
      const { leases, calls } = renewerState();
      const following = new LeaseOrders(calls, () => {});
      for (const order of orders) following.follow(order);
      const model = modelOf(orders);
      const expected = [...model.values()].map(({ receipt, claims }) => [receipt, claims] as const);
      expect(leases).toEqual(new Map(expected));
      for (const receipt of ["a", "b", "c"]) {
        const at = [...model].find(([, lease]) => lease.receipt === receipt)?.[0];
        expect(following.slotOf(receipt)).toBe(at);
      }
    }),
    { numRuns: 1_000 },
  );
});
