import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AUDIT_PAGE, AUDIT_SCOPE, AuditWorld, countsOf } from "../../test/support/audit-world.ts";
import { present } from "../core/assert.ts";
import type { ObjectEvent } from "../core/events/object-event.ts";
import { objectStateOf } from "../core/events/object-identity.ts";
import { addMs, days, durationMs, minutes, subtractMs } from "../core/units.ts";
import { recordKey } from "../ledger/record-key.ts";
import type { Ledger, ListedRecord } from "../ports/ledger.ts";
import type { QueueSnapshot } from "./queue-snapshot.ts";

describe.each([true, false])("in a bucket with versions: %s", (versioned) => {
  test("an object with one commit is committed, one without a record is missing", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    world.put("b", "2");
    world.settle();
    expect(await world.statuses()).toEqual(["a committed", "b missing"]);
  });

  test("keys are compared in the order of their UTF-8 bytes", async () => {
    const world = new AuditWorld(versioned);
    for (const key of ["\u{1F600}", "\uFFFD", "é", "z"]) await world.commit(world.put(key, key));
    world.put("\uE000", "lost");
    world.settle();
    const lines = await world.audit({ sink: true });
    expect(countsOf(lines)).toEqual({ committed: 4, missing: 1 });
  });

  test("dead-lettered, held and failed records have a status each, and none is missing", async () => {
    const world = new AuditWorld(versioned);
    await world.fail(world.put("dead", "1"));
    await world.fail(world.put("held", "2"), {
      failure: { errorClass: "held", fingerprint: "h", message: "late" },
    });
    await world.fail(world.put("retry", "3"), { permanent: false });
    world.settle();
    const expected = ["dead dead-lettered", "held held", "retry in-flight"];
    expect(await world.statuses()).toEqual(expected);
  });

  test("an object that is young, or whose event is queued, is waiting", async () => {
    const world = new AuditWorld(versioned);
    const event = world.put("queued", "1");
    world.settle();
    world.put("young", "2");
    world.queued.add(`queued ${objectStateOf(event)}`);
    expect(await world.statuses()).toEqual(["queued waiting", "young waiting"]);
  });

  test("a queue that cannot be read makes objects unknown, not missing", async () => {
    const world = new AuditWorld(versioned);
    world.put("a", "1");
    world.settle();
    const at = world.clock.now();
    world.put("b", "1");
    world.settle();
    const queue: QueueSnapshot = {
      kind: "counted",
      messages: 7,
      has: () => false,
      settledBefore: at,
    };
    expect(await world.statuses({ queue })).toEqual(["a missing", "b unknown"]);
  });

  test("what the ledger may have forgotten is unknown, not missing", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    world.clock.advance(days(46));
    await world.commit(world.put("b", "2"));
    world.settle();
    expect(await world.statuses()).toEqual(["a unknown", "b committed"]);
  });

  test("a commit whose object was deleted is gone, unless the pipeline handles removals", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    world.remove("a");
    world.settle();
    const status = versioned ? "committed" : "gone";
    expect(await world.statuses()).toEqual([`a ${status}`]);
    expect(await world.statuses({ handlesRemovals: true })).toEqual(["a orphan"]);
  });

  test("an ingested removal leaves no orphan", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    await world.commit(world.remove("a"));
    world.settle();
    const statuses = await world.statuses({ handlesRemovals: true });
    expect(statuses).toEqual([versioned ? "a committed" : "a gone"]);
  });

  test("a removal by a consumer whose clock is behind leaves no orphan of a listed object", async () => {
    const world = new AuditWorld(versioned);
    world.put("a", "1");
    await world.commit(present(world.listed("a"), "the listed object"));
    await world.commit(world.remove("a"));
    world.settle();
    const { ledger } = world;
    const isRemoval = ({ input }: ListedRecord) => input.object?.size === null;
    const early = (one: ListedRecord): ListedRecord => {
      const changedAt = subtractMs(one.record.changedAt, minutes(30));
      return isRemoval(one) ? { ...one, record: { ...one.record, changedAt } } : one;
    };
    const skewed: Ledger = {
      ...ledger,
      async listRecords(...call) {
        const page = await ledger.listRecords(...call);
        return { ...page, records: page.records.map(early) };
      },
    };
    const lines = await world.audit({ handlesRemovals: true, ledger: skewed });
    expect(countsOf(lines)).toEqual({ [versioned ? "committed" : "gone"]: 1 });
  });

  test("a removal that the list of records does not show yet leaves no orphan", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    await world.commit(world.remove("a"));
    world.settle();
    const { ledger } = world;
    const shown: string[] = [];
    const behind: Ledger = {
      ...ledger,
      async listRecords(...call) {
        const page = await ledger.listRecords(...call);
        return { ...page, records: page.records.filter((one) => one.input.object?.size !== null) };
      },
      async showObject(...call) {
        shown.push(call[2]);
        return ledger.showObject(...call);
      },
    };
    const [line] = await world.audit({ handlesRemovals: true, ledger: behind });
    expect([line?.status, line?.reason]).toEqual(["gone", "its removal is applied"]);
    expect(shown).toEqual(["a"]); // S3 of second-look.ts
  });

  test("a removal that is still queued makes its object waiting", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    world.remove("a");
    world.queued.add("a removed");
    world.settle();
    expect(await world.statuses({ handlesRemovals: true })).toEqual(["a waiting"]);
  });

  test("rows of a record that the ledger does not have are orphans", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    const at = world.clock.now();
    const stray = {
      key: "b",
      recordKey: recordKey(AUDIT_SCOPE, "stray"),
      eventTime: at,
      fence: at,
    };
    world.effects.set("b", stray);
    world.settle();
    expect(await world.statuses({ sink: true })).toEqual(["a committed", "b orphan"]);
    world.clock.advance(days(46));
    expect((await world.statuses({ sink: true })).includes("b orphan")).toBe(false);
  });

  test("a commit without a trace in the sink is missing", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    world.effects.clear();
    world.settle();
    expect(await world.statuses({ sink: true })).toEqual(["a missing"]);
    expect(await world.statuses()).toEqual(["a committed"]);
  });

  test("a commit of which the sink has only an older version is missing", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    const older = present(world.effects.get("a"), "the effect of the first version");
    await world.commit(world.put("a", "2"));
    world.settle();
    const before = await world.statuses({ sink: true });
    world.effects.set("a", older); // As a sink that was restored from a copy.
    const after = await world.statuses({ sink: true });
    const others = versioned ? ["a committed"] : ["a gone"];
    expect(before.toSorted()).toEqual([...others, "a committed"].toSorted());
    expect(after.toSorted()).toEqual([...others, "a missing"].toSorted());
  });

  test("a listing and an event that both applied one version are double", async () => {
    const world = new AuditWorld(versioned);
    await world.commit(world.put("a", "1"));
    const listed = world.listed("a");
    if (listed !== null) await world.commit(listed, { blind: true });
    world.settle();
    expect(await world.statuses()).toEqual(["a double"]);
  });

  test("only objects that were modified in the window are judged", async () => {
    const world = new AuditWorld(versioned);
    world.put("before", "1");
    const from = addMs(world.clock.now(), minutes(1));
    await world.commit(world.put("within", "2"));
    const to = addMs(world.clock.now(), minutes(1));
    world.put("after", "3");
    world.settle();
    expect(await world.statuses({ from, to })).toEqual(["within committed"]);
  });
});

test("the bytes of an object without versions may come back: the last write counts", async () => {
  const world = new AuditWorld(false);
  await world.commit(world.put("a", "A"));
  await world.commit(world.put("a", "B"));
  const third = world.put("a", "A");
  world.settle();
  expect(await world.statuses()).toContain("a missing");
  await world.commit(third);
  expect(await world.statuses()).toEqual(["a gone", "a committed"]);
});

test("an older version without a record is superseded, below a delete marker ignored", async () => {
  const world = new AuditWorld(true);
  world.put("a", "1");
  await world.commit(world.put("a", "2"));
  world.put("b", "1");
  world.remove("b");
  world.settle();
  expect(await world.statuses()).toEqual(["a committed", "a superseded", "b ignored"]);
});

test("an object that is replaced while the audit reads is not missing", async () => {
  const world = new AuditWorld(false);
  await world.commit(world.put("a", "1"));
  world.settle();
  const { to } = world.options();
  const { ledger } = world;
  const list = ledger.listRecords.bind(ledger);
  let isReplaced = false;
  ledger.listRecords = async (...call) => {
    if (!isReplaced) {
      isReplaced = true;
      await world.commit(world.put("a", "2"));
    }
    return list(...call);
  };
  expect(await world.statuses({ to })).toEqual(["a gone"]);
});

test("records of other pipelines and generations do not count", async () => {
  const world = new AuditWorld(true);
  await world.commit(world.put("a", "1"));
  world.settle();
  expect(await world.statuses({ scope: { ...AUDIT_SCOPE, generation: 1 } })).toEqual(["a missing"]);
});

type Step = { key: string; bytes: string; do: "put" | "remove" | "list"; fate: number };
const STEPS = fc.array(
  fc.record({
    key: fc.constantFrom("a", "b", "\u{1F600}"),
    bytes: fc.constantFrom("A", "B"),
    do: fc.constantFrom("put", "put", "put", "remove", "list"),
    fate: fc.integer({ min: 0, max: 4 }),
  }),
  { maxLength: 12 },
);

/** Runs a history in which events are lost, late or dead-lettered; returns the world at its end. */
async function runHistory(versioned: boolean, steps: readonly Step[]): Promise<AuditWorld> {
  const world = new AuditWorld(versioned);
  const late: ObjectEvent[] = [];
  for (const step of steps) {
    const event =
      step.do === "put"
        ? world.put(step.key, step.bytes)
        : step.do === "remove"
          ? world.remove(step.key)
          : world.listed(step.key);
    if (event === null || (event.kind === "removed" && step.fate > 1)) continue;
    if (step.fate === 0) continue;
    if (step.fate === 1 && event.kind === "created" && event.sequencer !== null) {
      await world.fail(event);
    } else if (step.fate === 2) late.push(event);
    else if (event.kind === "created") await world.commit(event);
  }
  for (const event of late.toReversed()) await world.commit(event);
  world.settle();
  return world;
}

test("whatever was lost or late, the current object is missing exactly if it was not applied", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), STEPS, async (versioned, steps) => {
      const world = await runHistory(versioned, steps);
      const lines = await world.audit({ sink: true });
      expect(lines.filter(({ status }) => status === "double" || status === "orphan")).toEqual([]);
      for (const [key, versions] of world.versions) {
        const current = versions.find(({ isLatest }) => isLatest);
        if (current === undefined) continue;
        const line = lines.find(
          (one) => one.key === key && one.at === current.lastModified && one.status !== "gone",
        );
        const row = await world.ledger.showObject(AUDIT_SCOPE, "landing", key);
        const state = versioned ? `v:${current.versionId}` : `e:${current.size}:${current.etag}`;
        const isApplied = row?.applied?.state === state;
        const settled = ["committed", "dead-lettered"];
        expect([key, settled.includes(line?.status ?? "")]).toEqual([
          key,
          isApplied || line?.status === "dead-lettered",
        ]);
        if (!isApplied && line?.status !== "dead-lettered") expect(line?.status).toBe("missing");
      }
      const inBucket = [...world.versions.values()].flat().length;
      expect(lines.filter(({ status }) => status !== "gone").length).toBeGreaterThanOrEqual(
        inBucket,
      );
    }),
    { numRuns: 150 },
  );
});

test("many missing objects are read again by pages, not one by one", async () => {
  const world = new AuditWorld(false);
  const count = 120;
  for (let nth = 0; nth < count; nth += 1) world.put(`k${String(nth).padStart(3, "0")}`, "1");
  world.settle();
  const { calls, lines } = await world.countedAudit();
  expect(countsOf(lines)).toEqual({ missing: count });
  const pages = count / AUDIT_PAGE;
  expect(calls.list).toBeLessThanOrEqual(2 * pages + 2);
  expect(calls.listRecords).toBeLessThanOrEqual(4);
  expect(calls.showObject).toBe(count);
});

test("two doubts that are far apart are resolved without reading what is between them", async () => {
  const world = new AuditWorld(true);
  world.put("a", "lost");
  world.put("z", "lost");
  const to = addMs(world.clock.now(), durationMs(1));
  const count = 1_100;
  for (let nth = 0; nth < count; nth += 1) world.put(`b${String(nth).padStart(4, "0")}`, "1");
  world.settle();
  const { calls, lines } = await world.countedAudit({ to });
  expect(lines.map(({ key, status }) => `${key} ${status}`)).toEqual(["a missing", "z missing"]);
  expect(calls.list).toBeLessThanOrEqual(Math.ceil((count + 2) / AUDIT_PAGE) + 4);
});

test("a key that the filter of the source ignores needs no effect, unless it has one", async () => {
  const world = new AuditWorld(true);
  world.put("in/a.txt", "1");
  world.put("in/b.csv", "2");
  await world.commit(world.put("in/c.txt", "3"));
  world.settle();
  const expected = ["in/a.txt ignored", "in/b.csv missing", "in/c.txt committed"];
  expect(await world.statuses({ prefix: "in/", suffix: ".csv" })).toEqual(expected);
});

test("an object that is written again with the same bytes thousands of times stays committed", async () => {
  const world = new AuditWorld(false);
  for (let nth = 0; nth < 2_050; nth += 1) await world.commit(world.put("a", "same"));
  world.settle();
  const [line] = await world.audit();
  expect(line?.status).toBe("committed");
  expect(line?.records.length).toBe(1_000);
});
