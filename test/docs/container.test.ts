// The container guide: its variables exist, and its Dockerfile starts what the package provides.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { containerCommands } from "../support/container-commands.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/guides/container.md");

test("every variable of the guide is a setting", () => {
  const variables = [...page.matchAll(/`(TIDEGATE_\w+)`/g)].map(([, name = ""]) => name);
  expect(variables.length).toBeGreaterThan(0);
  const reference = read("docs/reference/configuration.md");
  for (const name of variables) expect(reference).toContain(`\`${name}\``);
});

test("the page shows the files of the example, word for word", () => {
  expect(page).toContain(`\`\`\`dockerfile\n${read("examples/container/Dockerfile")}\`\`\``);
  expect(page).toContain(`\`\`\`text\n${read("examples/container/.dockerignore")}\`\`\``);
});

test("every documented container command starts the command itself, not npm or a shell", () => {
  const commands = containerCommands();
  expect(commands.length).toBeGreaterThanOrEqual(2);
  for (const { where, words } of commands) {
    expect(words[0], where).toBe("node_modules/.bin/tidegate");
  }
});

test("the container does not run as root", () => {
  const lines = read("examples/container/Dockerfile").split("\n");
  const user = lines.findLastIndex((line) => line.startsWith("USER "));
  expect(lines[user]).toBe("USER node");
  expect(lines.findIndex((line) => line.startsWith("CMD "))).toBeGreaterThan(user);
});

test("the Dockerfile runs the package's command on a supported version of Node", () => {
  const dockerfile = /```dockerfile\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const { bin, engines } = JSON.parse(read("package.json"));
  const command = JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? "[]") as string[];
  expect(command[0]).toBe(`node_modules/.bin/${Object.keys(bin)[0]}`);
  const image = Number(/^FROM node:(\d+)-slim@sha256:[0-9a-f]{64}$/m.exec(dockerfile)?.[1]);
  expect(image).toBeGreaterThanOrEqual(Number(/(\d+)/.exec(engines.node)?.[1]));
  const port = /^EXPOSE (\d+)$/m.exec(dockerfile)?.[1];
  expect(dockerfile).toContain(`http://127.0.0.1:${port}/health`);
  expect(read("docs/reference/configuration.md")).toContain(`\`${port}\``);
});
