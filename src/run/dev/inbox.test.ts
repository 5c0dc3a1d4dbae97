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
  const failures: string[] = [];
  const onFailure = (name: string) => void failures.push(name);
  return { failures, ...createInbox({ clock: systemClock }, { folder, put, onFailure }) };
}

test("a file is put once it has stopped growing, then moved to done", async () => {
  const put: [string, string][] = [];
  const inbox = inboxWith(async (name, path) => void put.push([name, readFileSync(path, "utf8")]));
  writeFileSync(join(folder, "a.csv"), "one");
  expect(await inbox.scan()).toEqual([]);
  appendFileSync(join(folder, "a.csv"), " two");
  expect(await inbox.scan()).toEqual([]);
  expect(await inbox.scan()).toEqual(["a.csv"]);
  expect(put).toEqual([["a.csv", "one two"]]);
  expect(existsSync(join(folder, "a.csv"))).toBe(false);
  expect(readFileSync(join(folder, "done", "a.csv"), "utf8")).toBe("one two");
  expect(await inbox.scan()).toEqual([]);
});

test("a name may be used again, and the previous file stays in done", async () => {
  const inbox = inboxWith(async () => {});
  for (const text of ["first", "second"]) {
    writeFileSync(join(folder, "a.csv"), text);
    await inbox.scan();
    expect(await inbox.scan()).toEqual(["a.csv"]);
  }
  const texts = readdirSync(join(folder, "done")).map((name) =>
    readFileSync(join(folder, "done", name), "utf8"),
  );
  expect(texts.toSorted()).toEqual(["first", "second"]);
});

test("a file that cannot be put stays, is reported once, and is tried again", async () => {
  let broken = true;
  const inbox = inboxWith(() => (broken ? Promise.reject(new Error("no")) : Promise.resolve()));
  writeFileSync(join(folder, "a.csv"), "x");
  for (let scans = 0; scans < 4; scans += 1) expect(await inbox.scan()).toEqual([]);
  expect(inbox.failures).toEqual(["a.csv"]);
  broken = false;
  expect(await inbox.scan()).toEqual(["a.csv"]);
});

test("unfinished files, hidden files and folders are skipped", async () => {
  const inbox = inboxWith(async () => {});
  for (const name of [".hidden", "a.csv.part", "b.tmp", "c~"]) {
    writeFileSync(join(folder, name), "x");
  }
  await inbox.scan();
  expect(await inbox.scan()).toEqual([]);
  expect(readdirSync(folder)).toHaveLength(5);
});
