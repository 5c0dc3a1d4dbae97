import { join } from "node:path";
import { expect, test } from "vitest";
import { AUDIT_SCOPE, AuditWorld, countsOf } from "../../../test/support/audit-world.ts";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import type { AuditLine } from "../../audit/audit-line.ts";
import type { RecordLister } from "../../audit/merged-keys.ts";
import { type AuditedRecord, kindOfRecord, placeOfRecord } from "../../audit/record-match.ts";
import { StatementBuilder } from "../../audit/statement.ts";
import { present } from "../../core/assert.ts";
import { days, minutes, subtractMs } from "../../core/units.ts";
import { systemPorts } from "../../platform/index.ts";
import { createSqliteLedger } from "../../stores/sqlite/ledger/ledger.ts";
import { createAuditReader } from "./reader-thread.ts";

const folder = useTemporaryFolder("reader-thread");
type AuditedPage = Awaited<ReturnType<RecordLister["listRecords"]>>;
const QUERY = { by: "object", bucket: "landing", prefix: "" } as const;

/** Every state of a record, with and without a sequencer. */
async function fill(world: AuditWorld): Promise<void> {
  for (const key of ["a", "é", "\u{1F600}"]) await world.commit(world.put(key, key));
  world.put("listed", "1");
  await world.commit(present(world.listed("listed"), "the listed object"));
  await world.fail(world.put("dead", "1"));
  await world.fail(world.put("retry", "1"), { permanent: false });
  const failure = { errorClass: "held", fingerprint: "h", message: "late" };
  await world.fail(world.put("held", "1"), { failure });
  const { ledger } = world;
  const request = requestOf(world, world.put("late", "1"));
  const lease = { owner: "o", leaseMs: minutes(1) };
  const [claim] = await ledger.claim(AUDIT_SCOPE, [request], lease);
  await world.commit(world.put("late", "2"));
  const fence = claim?.kind === "claimed" ? claim.fence : null;
  const { key, object } = request;
  const held = { key, fence: present(fence, "the fence of the claim"), object };
  await ledger.commit(AUDIT_SCOPE, [{ ...held, digest: "d" }]);
  await world.commit(world.put("removed", "1"));
  await world.commit(world.remove("removed"));
  await world.commit(world.put("double", "1"));
  await world.commit(present(world.listed("double"), "the listed object"), { blind: true });
  world.put("missing", "1");
  const working = requestOf(world, world.put("working", "1"));
  const given = requestOf(world, world.put("given back", "1"));
  const claims = await ledger.claim(AUDIT_SCOPE, [working, given], lease);
  const back = claims[1]?.kind === "claimed" ? claims[1].fence : null;
  const released = { key: given.key, fence: present(back, "the fence of the claim") };
  await ledger.release(AUDIT_SCOPE, [released]);
  world.settle();
}

/** The claim of an event. */
function requestOf(world: AuditWorld, event: ReturnType<AuditWorld["put"]>) {
  const { key, sequencer } = event;
  const object = { bucket: "landing", key, sequencer };
  const receivedAt = world.clock.now();
  return { key: world.keyOf(event), receivedAt, input: world.inputOf(event), object };
}

/** What an audit judges a record by. */
function judged(one: AuditedRecord) {
  const { key, record, input } = one;
  const { kind, changedAt } = record;
  return {
    key,
    kind,
    changedAt,
    superseded: kind === "committed" && record.superseded,
    failure: kind === "failed" || kind === "parked" ? record.failure : null,
    eventTime: input.eventTime,
    object: input.object,
    event: kindOfRecord(AUDIT_SCOPE, one, null),
    position: placeOfRecord(one),
  };
}

test("the records of these tests have every kind of state, event and place", async () => {
  const world = new AuditWorld(false);
  await fill(world);
  const page = { after: null, limit: 1_000 };
  const { records } = await world.ledger.listRecords(AUDIT_SCOPE, QUERY, page);
  const all = records.map(judged);
  expect(new Set(all.map(({ kind }) => kind))).toEqual(
    new Set(["committed", "parked", "failed", "claimed", "released"]),
  );
  expect(new Set(all.map(({ event }) => event))).toEqual(new Set(["created", "listed", "removed"]));
  expect(all.filter(({ superseded }) => superseded)).toHaveLength(1);
  expect(all.some(({ event, position }) => event === "listed" && position !== null)).toBe(true);
});

function digestOf(world: AuditWorld, lines: readonly AuditLine[]): string {
  const { to } = world.options();
  const subject = { ...AUDIT_SCOPE, bucket: "landing", prefix: "" };
  const forgetsBefore = subtractMs(to, days(45));
  const builder = new StatementBuilder({ subject, from: null, to, forgetsBefore, previous: null });
  for (const line of lines) builder.add(line);
  const sink = { checked: false, what: "" };
  const queue = { read: "exact", messages: 0 } as const;
  const rows = null;
  const facts = { id: "i", startedAt: "", endedAt: "", sink, queue, rows, graceMs: 0 };
  return builder.end(facts).digest;
}

test.each([true, false])(
  "an audit by two threads has the lines and the digest of one thread (versions: %s)",
  async (versioned) => {
    const path = join(folder, `lines-${versioned}.db`);
    const ledger = createSqliteLedger(systemPorts, { path });
    const world = new AuditWorld(versioned, ledger);
    await fill(world);
    const alone = await world.audit({ handlesRemovals: true });
    const unread = { listRecords: () => Promise.reject(new Error("read by the first thread")) };
    const records = createAuditReader(unread, { path });
    expect(await records.started()).toBe(true);
    const together = await world.audit({ handlesRemovals: true, records });
    expect(together).toEqual(alone);
    expect(digestOf(world, together)).toBe(digestOf(world, alone));
    expect(Object.keys(countsOf(alone)).length).toBeGreaterThanOrEqual(6);
    await records.close();
    await ledger.close();
  },
);

test("pages of the thread continue where those of the ledger end, and the other way round", async () => {
  const path = join(folder, "pages.db");
  const ledger = createSqliteLedger(systemPorts, { path });
  const world = new AuditWorld(false, ledger);
  await fill(world);
  const records = createAuditReader(ledger, { path });
  expect(await records.started()).toBe(true);
  const all = await ledger.listRecords(AUDIT_SCOPE, QUERY, { after: null, limit: 1_000 });
  const listed: AuditedRecord[] = [];
  let after: string | null = null;
  for (let nth = 0; nth === 0 || after !== null; nth += 1) {
    const reader: RecordLister = nth % 3 === 2 ? ledger : records;
    const some: AuditedPage = await reader.listRecords(AUDIT_SCOPE, QUERY, { after, limit: 2 });
    listed.push(...some.records);
    after = some.next;
  }
  expect(listed.map(judged)).toEqual(all.records.map(judged));
  const below = { ...QUERY, prefix: "d" };
  const page = { after: null, limit: 1_000 };
  const prefixed = await records.listRecords(AUDIT_SCOPE, below, page);
  const expected = await ledger.listRecords(AUDIT_SCOPE, below, page);
  expect(prefixed.records.map(({ key }) => key)).toEqual(expected.records.map(({ key }) => key));
  expect(prefixed.records.length).toBeGreaterThan(0);
  await records.close();
  await ledger.close();
});

test("errors of the thread keep their code", async () => {
  const path = join(folder, "errors.db");
  const ledger = createSqliteLedger(systemPorts, { path });
  const records = createAuditReader(ledger, { path });
  expect(await records.started()).toBe(true);
  const wrong = records.listRecords(AUDIT_SCOPE, QUERY, { after: "x", limit: 1 });
  await expect(wrong).rejects.toMatchObject({ code: "TG_VALUE_INVALID" });
  await records.close();
  await ledger.close();
});

test("without a thread, or after it ended, the ledger's own pages are read", async () => {
  const path = join(folder, "ended.db");
  const ledger = createSqliteLedger(systemPorts, { path });
  const world = new AuditWorld(true, ledger);
  await fill(world);
  const alone = await world.audit();
  const entry = new URL("data:text/javascript,process.exit(1)");
  const records = createAuditReader(ledger, { path }, { pagesBefore: 0, entry });
  expect(await world.audit({ records })).toEqual(alone);
  expect(await records.started()).toBe(false);
  expect(await world.audit({ records })).toEqual(alone);
  await records.close();
  await ledger.close();
});
