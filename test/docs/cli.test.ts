import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allCommands } from "../../src/cli/command-table.ts";
import { rowsOf } from "../support/markdown-table.ts";

const COMMANDS = await allCommands();

const page = readFileSync(join(import.meta.dirname, "../../docs/reference/cli.md"), "utf8");

test("the page has a section for exactly the commands of the CLI", () => {
  const sections = [...page.matchAll(/^## tidegate (.+)$/gm)].map((match) => match[1]);
  expect(sections).toEqual(COMMANDS.map(({ name }) => name));
});

test.each(COMMANDS.map((command) => [command.name, command] as const))(
  "the page describes every flag of tidegate %s as its help does",
  (name, command) => {
    const start = page.indexOf(`## tidegate ${name}\n`);
    const section = page.slice(start, page.indexOf("\n## ", start));
    const code = (text: string | null) => (text === null ? "" : `\`${text}\``);
    expect(section).toContain(command.summary);
    const rows = Object.keys(command.flags).length === 0 ? [] : rowsOf(section, "flag");
    expect(rows).toEqual(
      Object.entries(command.flags).map(([flag, { value, fallback, doc }]) => [
        code(`--${flag}`),
        code(value),
        code(fallback),
        doc,
      ]),
    );
  },
);
