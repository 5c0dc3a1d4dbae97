import { expect, test } from "vitest";
import { allCommands, COMMAND_GROUPS } from "./command-table.ts";

test("a command is in the group of its first word", async () => {
  for (const { word, load } of COMMAND_GROUPS) {
    const words = (await load()).map(({ name }) => name.split(" ")[0]);
    expect([word, ...new Set(words)]).toEqual([word, word]);
  }
});

test("no group and no command is there twice, and a command comes before its subcommands", async () => {
  const words = COMMAND_GROUPS.map(({ word }) => word);
  const names = (await allCommands()).map(({ name }) => name);
  expect(words).toEqual([...new Set(words)]);
  expect(names).toEqual([...new Set(names)]);
  for (const [at, name] of names.entries()) {
    expect(names.slice(0, at).filter((earlier) => earlier.startsWith(`${name} `))).toEqual([]);
  }
});
