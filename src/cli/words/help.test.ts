import { expect, test } from "vitest";
import { allCommands } from "../command-table.ts";
import { helpOf, helpOfAll, OTHER, sectionsOf } from "./help.ts";

const COMMANDS = await allCommands();

test("every command is in one section of the help", () => {
  const sections = sectionsOf(COMMANDS);
  expect(sections.map(([title]) => title)).not.toContain(OTHER);
  const names = sections.flatMap(([, members]) => members.map(({ name }) => name));
  expect(names.toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
});

test("a command without a section is still shown", () => {
  const command = { ...COMMANDS[0], name: "unheard" } as (typeof COMMANDS)[number];
  expect(helpOfAll([command])).toContain(`${OTHER}:\n  unheard`);
});

test("the help of a command that has subcommands lists them", () => {
  const replay = COMMANDS.find(({ name }) => name === "replay");
  const subcommands = COMMANDS.filter(({ name }) => name.startsWith("replay "));
  if (replay === undefined) throw new Error("no replay");
  expect(helpOf(replay, subcommands)).toContain("Subcommands:\n  replay list");
});
