import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../platform/system-clock.ts";
import { createInbox } from "./inbox.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tidegate-inbox-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function inboxWith(put: (name: string, path: string) => Promise<void>) {
  const troubles: string[] = [];
  const onTrouble = (name: string) => void troubles.push(name);
  return { troubles, ...createInbox({ clock: systemClock }, { folder, put, onTrouble }) };
}

test("a file is put once it stopped growing, then moved to done", async () => {
  const put: [string, string][] = [];
  const inbox = inboxWith(async (name, path) => void put.push([name, readFileSync(path, "utf8")]));
  writeFileSync(join(folder, "a.csv"), "one");
  expect(await inbox.look()).toEqual([]);
  appendFileSync(join(folder, "a.csv"), " two");
  expect(await inbox.look()).toEqual([]);
  expect(await inbox.look()).toEqual(["a.csv"]);
  expect(put).toEqual([["a.csv", "one two"]]);
  expect(existsSync(join(folder, "a.csv"))).toBe(false);
  expect(readFileSync(join(folder, "done", "a.csv"), "utf8")).toBe("one two");
  expect(await inbox.look()).toEqual([]);
});

test("the same name may be dropped again, and the former file stays in done", async () => {
  const inbox = inboxWith(async () => {});
  for (const text of ["first", "second"]) {
    writeFileSync(join(folder, "a.csv"), text);
    await inbox.look();
    expect(await inbox.look()).toEqual(["a.csv"]);
  }
  const kept = readdirSync(join(folder, "done")).map((name) =>
    readFileSync(join(folder, "done", name), "utf8"),
  );
  expect(kept.toSorted()).toEqual(["first", "second"]);
});

test("a file that cannot be put stays, is told of once, and is tried again", async () => {
  let broken = true;
  const inbox = inboxWith(() => (broken ? Promise.reject(new Error("no")) : Promise.resolve()));
  writeFileSync(join(folder, "a.csv"), "x");
  for (let looks = 0; looks < 4; looks += 1) expect(await inbox.look()).toEqual([]);
  expect(inbox.troubles).toEqual(["a.csv"]);
  broken = false;
  expect(await inbox.look()).toEqual(["a.csv"]);
});

test("what is not finished, hidden, or a folder is left alone", async () => {
  const inbox = inboxWith(async () => {});
  for (const name of [".hidden", "a.csv.part", "b.tmp", "c~"]) {
    writeFileSync(join(folder, name), "x");
  }
  await inbox.look();
  expect(await inbox.look()).toEqual([]);
  expect(readdirSync(folder)).toHaveLength(5);
});
