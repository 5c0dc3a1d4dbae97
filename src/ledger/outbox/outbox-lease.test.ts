import { expect, test } from "vitest";
import { addMs, epochMs, seconds } from "../../core/units.ts";
import type { OutboxRow } from "../../ports/outbox.ts";
import { createOutboxTaking } from "./outbox-lease.ts";
import { stepRegister } from "./outbox-transitions.ts";

const T0 = epochMs(1_700_000_000_000);
const MINE = { owner: "mine", leaseMs: seconds(30) };
const OTHER = { owner: "other", leaseMs: seconds(30) };

function rowOf(seq: number, groupId: string | null, lease = MINE): OutboxRow {
  const entry = { key: `k${seq}`, groupId, dedupId: "d", payloadDigest: "p", body: "b" };
  const step = stepRegister(undefined, { ...entry, attributes: {} }, lease, {
    now: T0,
    expiry: T0,
    seq,
  });
  if (step.save === null) throw new Error("a fresh row is saved");
  return step.save;
}

const leasedSeqs = (rows: readonly OutboxRow[], now = T0) => {
  const { offer } = createOutboxTaking(MINE, now);
  return rows.flatMap((row) => offer(row) ?? []).map(({ seq }) => seq);
};

test("a row waits while another owner leases an older row of its group (T1)", () => {
  const rows = [rowOf(1, "g"), rowOf(2, "g", OTHER), rowOf(3, "g"), rowOf(4, "h"), rowOf(5, null)];
  expect(leasedSeqs(rows)).toEqual([1, 4, 5]);
  expect(leasedSeqs(rows, addMs(T0, OTHER.leaseMs))).toEqual([1, 2, 3, 4, 5]);
});

test("rows without a group never wait", () => {
  expect(leasedSeqs([rowOf(1, null, OTHER), rowOf(2, null)])).toEqual([2]);
});

test("a row that another owner got first holds back the rest of its group", () => {
  const taking = createOutboxTaking(MINE, T0);
  const [first, second, apart] = [rowOf(1, "g"), rowOf(2, "g"), rowOf(3, null)];
  expect(taking.offer(first)).toMatchObject({ seq: 1, owner: "mine" });
  taking.lose(first);
  expect(taking.offer(second)).toBeNull();
  taking.lose(apart);
  expect(taking.offer(rowOf(4, null))).not.toBeNull();
});
