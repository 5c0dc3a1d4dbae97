import { expect, test } from "vitest";
import { AUDIT_BUCKET, AUDIT_SCOPE, AuditWorld } from "../../test/support/audit-world.ts";
import { present } from "../core/assert.ts";
import { addMs, minutes } from "../core/units.ts";
import type { ListedRecord } from "../ports/ledger.ts";
import { type JudgeContext, KeyJudge } from "./judge-key.ts";

const CONTEXT: JudgeContext = {
  scope: AUDIT_SCOPE,
  isHeld: () => false,
  handlesRemovals: true,
  isFiltered: () => false,
  hasSink: false,
  inWindow: () => true,
};
const ORDERS = [
  [0, 1, 2],
  [0, 2, 1],
  [1, 0, 2],
  [1, 2, 0],
  [2, 0, 1],
  [2, 1, 0],
];

/** Three records of one object: two events, then a state that a listing found. */
async function threeRecords() {
  const world = new AuditWorld(false);
  await world.commit(world.put("a", "1"));
  await world.commit(world.put("a", "2"));
  world.put("a", "3"); // Its event never comes.
  await world.commit(present(world.listed("a"), "the listed object"));
  const query = { by: "object", bucket: AUDIT_BUCKET, prefix: "" } as const;
  const page = await world.ledger.listRecords(AUDIT_SCOPE, query, { after: null, limit: 10 });
  const byEtag = new Map(page.records.map((one) => [one.input.object?.etag, one]));
  const records = ["1", "2", "3"].map((etag) => present(byEtag.get(etag), etag));
  return { world, records };
}

/** The clock of the consumer that committed the first event is an hour ahead. */
function skewed([first, ...others]: readonly ListedRecord[]): ListedRecord[] {
  const { record, ...rest } = present(first, "the first record");
  const changedAt = addMs(record.changedAt, minutes(60));
  return [{ ...rest, record: { ...record, changedAt } }, ...others];
}

// By clocks, the listed state is newer than the second event and older than the first one, though
// the second event is newer than the first by its sequencer.
test.each(ORDERS)("records are judged alike in the order %i, %i, %i", async (...order) => {
  const { world, records } = await threeRecords();
  const lines: string[] = [];
  const versions = present(world.versions.get("a"), "the object");
  const judge = new KeyJudge(CONTEXT, "a", versions, [], ({ etag, status }) => {
    lines.push(`${etag} ${status}`);
  });
  const all = skewed(records);
  for (const at of order) judge.record(present(all[at], "a record"));
  judge.finish();
  expect(lines.toSorted()).toEqual(["1 gone", "2 gone", "3 committed"]);
});
