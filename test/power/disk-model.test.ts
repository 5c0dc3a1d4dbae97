// The disk model itself: what it lets a power cut do, and that it catches wrong recoveries of a
// small store, whose log has one version in each page.

import { describe, expect, test } from "vitest";
import { createSeededRandom } from "../../src/core/seeded-random.ts";
import { type CutPolicy, type DiskEvent, DiskModel } from "./disk-model.ts";

const PAGE = 4_096;
const ROOT = "/disk";
const LOG = `${ROOT}/log`;
const DRAFT = `${ROOT}/log.new`;
const POLICIES: readonly CutPolicy[] = ["dropped", "subset", "torn"];
const DRAWS = 40;
const OLD = 1;
const NEW = 2;

type Event = Partial<DiskEvent> & Pick<DiskEvent, "kind">;

function eventOf(event: Event): DiskEvent {
  return { inode: 0, offset: 0, path: "-", bytes: Buffer.alloc(0), ...event };
}

const pageOf = (version: number) => Buffer.alloc(PAGE, String(version));
const create = (inode: number, path: string) => eventOf({ kind: "C", inode, path });
const sync = (inode: number) => eventOf({ kind: "S", inode });
const failSync = (inode: number) => eventOf({ kind: "F", inode });
const truncate = (inode: number, offset: number) => eventOf({ kind: "T", inode, offset });
const rename = (from: string, to: string) => eventOf({ kind: "R", path: `${from}\t${to}` });
const link = (from: string, to: string) => eventOf({ kind: "L", path: `${from}\t${to}` });
const unlink = (path: string) => eventOf({ kind: "U", path });
const SYNC_FOLDER = eventOf({ kind: "S", path: ROOT });

/** Writes a version to its page; `shown` are other bytes for it. */
function write(inode: number, version: number, shown = pageOf(version)): DiskEvent {
  return eventOf({ kind: "W", inode, offset: (version - 1) * PAGE, bytes: shown });
}

function evict(inode: number, version: number): DiskEvent {
  return { ...write(inode, version, Buffer.alloc(PAGE)), kind: "E" };
}

/** A step is a call, or the version that the store acknowledges. */
type Step = DiskEvent | number;

const FIRST: readonly Step[] = [create(OLD, LOG), SYNC_FOLDER, write(OLD, 1), sync(OLD), 1];
const FAILED: readonly Step[] = [...FIRST, write(OLD, 2), failSync(OLD)];
const COPY: readonly Step[] = [create(NEW, DRAFT), write(NEW, 1), write(NEW, 2)];
const IN_PLACE: readonly Step[] = [rename(DRAFT, LOG), SYNC_FOLDER];
const NEXT: readonly Step[] = [write(NEW, 3), sync(NEW), 3];

/** The versions that some power cut after some step loses, though they were acknowledged. */
function lostVersions(steps: readonly Step[]): number[] {
  const disk = new DiskModel(ROOT);
  const acknowledged = new Set<number>();
  const lost = new Set<number>();
  const random = createSeededRandom(1);
  for (const step of steps) {
    if (typeof step === "number") acknowledged.add(step);
    else disk.apply(step);
    for (const policy of POLICIES) {
      for (let draw = 0; draw < DRAWS; draw += 1) {
        const log = disk.survivors(policy, () => random.fraction()).get(LOG);
        for (const version of acknowledged) if (!has(log, version)) lost.add(version);
      }
    }
  }
  return [...lost];
}

function has(log: Buffer | "folder" | undefined, version: number): boolean {
  if (!Buffer.isBuffer(log)) return false;
  return log.subarray((version - 1) * PAGE, version * PAGE).equals(pageOf(version));
}

describe("a recovery after a failed sync", () => {
  test("keeps all versions if it answers after a new, synced file has the name", () => {
    expect(lostVersions([...FAILED, ...COPY, sync(NEW), ...IN_PLACE, 2, ...NEXT])).toEqual([]);
  });

  test.each<[string, readonly Step[]]>([
    ["renames before it syncs", [...COPY, ...IN_PLACE, sync(NEW), 2]],
    ["does not sync the folder", [...COPY, sync(NEW), rename(DRAFT, LOG), 2]],
    ["answers before the new file is durable", [...COPY, 2, sync(NEW), ...IN_PLACE]],
    ["writes the old file again", [write(OLD, 2), sync(OLD), 2]],
    ["only syncs the old file again", [sync(OLD), 2]],
    [
      "cuts the old file off and writes it again",
      [truncate(OLD, PAGE), write(OLD, 2), sync(OLD), 2],
    ],
    ["copies too late", [write(OLD, 2), sync(OLD), 2, ...COPY, sync(NEW), ...IN_PLACE]],
  ])("is caught if it %s", (_name, recovery) => {
    expect(lostVersions([...FAILED, ...recovery])).not.toEqual([]);
  });

  test("is caught if it copies a page after its eviction", () => {
    const copy = [create(NEW, DRAFT), write(NEW, 1), write(NEW, 2, Buffer.alloc(PAGE))];
    const steps = [...FAILED, evict(OLD, 2), ...copy, sync(NEW), ...IN_PLACE, 2];
    expect(lostVersions(steps)).toEqual([2]);
  });
});

describe("a page whose sync failed", () => {
  const survivorsOf = (steps: readonly Step[], policy: CutPolicy) => {
    const disk = new DiskModel(ROOT);
    for (const step of steps) if (typeof step !== "number") disk.apply(step);
    const log = disk.survivors(policy, () => 0).get(LOG);
    return Buffer.isBuffer(log) ? log : Buffer.alloc(0);
  };

  test("reads as zeros behind pages that were synced later", () => {
    const log = survivorsOf([...FAILED, write(OLD, 2), write(OLD, 3), sync(OLD)], "dropped");
    expect([has(log, 1), has(log, 2), has(log, 3)]).toEqual([true, false, true]);
    expect(log.subarray(PAGE, 2 * PAGE).equals(Buffer.alloc(PAGE))).toBe(true);
  });

  test("reads as before the failure if it was durable then", () => {
    const again = write(OLD, 1, pageOf(9));
    const log = survivorsOf([...FIRST, again, failSync(OLD), again, sync(OLD)], "dropped");
    expect(has(log, 1)).toBe(true);
  });

  test("may also have reached the disk", () => {
    expect(lostVersions(FAILED)).toEqual([]);
    const disk = new DiskModel(ROOT);
    for (const step of FAILED) if (typeof step !== "number") disk.apply(step);
    const draws = [0, 0, 0.9]; // The names, whether the page is written, whether it is restored.
    const log = disk.survivors("subset", () => draws.shift() ?? 0).get(LOG);
    expect(has(log, 2)).toBe(true);
  });

  test("shows what the disk has once it is evicted, also after it was written again", () => {
    const disk = new DiskModel(ROOT);
    const steps = [...FAILED, write(OLD, 2), sync(OLD), evict(OLD, 2)];
    for (const step of steps) if (typeof step !== "number") disk.apply(step);
    expect(has(disk.visible(LOG), 1)).toBe(true);
    expect(has(disk.visible(LOG), 2)).toBe(false);
  });

  test("says nothing about a new file that gets the same inode", () => {
    const reused = [create(OLD, LOG), SYNC_FOLDER, write(OLD, 1), write(OLD, 2), sync(OLD), 2];
    expect(lostVersions([...FAILED.filter((step) => step !== 1), ...reused])).toEqual([]);
  });
});

describe("a link", () => {
  const draft = [create(NEW, DRAFT), write(NEW, 1), sync(NEW), link(DRAFT, LOG)];

  test("keeps what was synced, once its folder is synced", () => {
    const steps = [...draft, SYNC_FOLDER, 1, unlink(DRAFT), write(NEW, 2), sync(NEW), 2];
    expect(lostVersions(steps)).toEqual([]);
  });

  test("is lost without a sync of its folder", () => {
    expect(lostVersions([...draft, 1])).toEqual([1]);
  });
});
