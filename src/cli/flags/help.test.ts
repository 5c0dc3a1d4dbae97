import { expect, test } from "vitest";
import { allCommands } from "../command-table.ts";
import { EXAMPLES } from "./examples.ts";
import { helpOf, helpOfAll, OTHER, sectionsOf } from "./help.ts";
import { parseFlags } from "./parse-flags.ts";

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

test("help lists a command before its subcommands, and looking before changing", () => {
  const names = sectionsOf(COMMANDS).flatMap(([, members]) => members.map(({ name }) => name));
  for (const [at, name] of names.entries()) {
    expect(names.slice(0, at).filter((earlier) => earlier.startsWith(`${name} `))).toEqual([]);
  }
  const [start, look] = sectionsOf(COMMANDS);
  expect(start?.[1][0]?.name).toBe("init");
  expect(look?.[1].map(({ name }) => name)).not.toContain("pipeline pause");
});

test("every command has examples in its help, and their flags and arguments are valid", () => {
  expect(Object.keys(EXAMPLES).toSorted()).toEqual(COMMANDS.map(({ name }) => name).toSorted());
  for (const command of COMMANDS) {
    expect(helpOf(command)).toContain(`Examples:\n  tidegate ${command.name}`);
    for (const line of EXAMPLES[command.name] ?? []) {
      expect(line.startsWith(command.name)).toBe(true);
      const words = line.split(" ").slice(command.name.split(" ").length);
      expect(() => parseFlags(command, words, {}), line).not.toThrow();
      const required = Object.keys(command.flags).filter((name) =>
        command.flags[name]?.doc.includes("(required)"),
      );
      expect(words).toEqual(expect.arrayContaining(required.map((name) => `--${name}`)));
    }
  }
});
