import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { createOnce } from "./replace-file.ts";

const folder = useTemporaryFolder("replace-file");

const pathOf = (name: string) => join(folder, name);
const namesOf = (name: string) => readdirSync(folder).filter((entry) => entry.startsWith(name));

test("a new file gets its name once it is whole", () => {
  const path = pathOf("whole.db");
  createOnce(path, (draft) => {
    expect(existsSync(path)).toBe(false);
    writeFileSync(draft, "mine");
  });
  expect(readFileSync(path, "utf8")).toBe("mine");
  expect(namesOf("whole.db")).toEqual(["whole.db"]);
});

test("of two processes that create a file at once, both use the first one's", () => {
  const path = pathOf("twice.db");
  createOnce(path, (draft) => {
    writeFileSync(draft, "second");
    createOnce(path, (other) => {
      expect(other).not.toBe(draft);
      writeFileSync(other, "first");
    });
    expect(existsSync(draft)).toBe(false);
  });
  expect(readFileSync(path, "utf8")).toBe("first");
  expect(namesOf("twice.db")).toEqual(["twice.db"]);
});

test("a draft that fails is removed, and the next attempt has one of its own", () => {
  const path = pathOf("failed.db");
  const fail = (draft: string) => {
    writeFileSync(`${draft}-wal`, "");
    throw new Error("the sync failed");
  };
  expect(() => createOnce(path, fail)).toThrow("the sync failed");
  expect(namesOf("failed.db")).toEqual([]);
  createOnce(path, (draft) => writeFileSync(draft, "again"));
  expect(readFileSync(path, "utf8")).toBe("again");
});

test("what killed starts left behind is removed, and nothing else", () => {
  const path = pathOf("killed.db");
  for (const end of [".1.new", ".1.new-wal", ".2.new", ".3.news", "-wal.new"]) {
    writeFileSync(`${path}${end}`, "");
  }
  createOnce(path, (draft) => expect(draft).toBe(`${path}.3.new`));
  expect(namesOf("killed.db").sort()).toEqual([
    "killed.db",
    "killed.db-wal.new",
    "killed.db.3.news",
  ]);
  writeFileSync(`${path}.1.new`, "");
  createOnce(path, () => expect.unreachable());
  expect(namesOf("killed.db")).not.toContain("killed.db.1.new");
});

test.each(["-wal", "-journal"])("no whole file is put beside the %s of a deleted one", (suffix) => {
  const path = pathOf(`left${suffix}.db`);
  writeFileSync(`${path}${suffix}`, "of another file");
  createOnce(path, () => expect.unreachable());
  expect(existsSync(path)).toBe(false);
});

test("a database in memory gets no file", () => {
  createOnce(":memory:", () => expect.unreachable());
});
