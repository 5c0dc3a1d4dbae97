import { join } from "node:path";
import { expect, test } from "vitest";
import { ownCommand, sourceFolder } from "./own-command.ts";

const root = join(import.meta.dirname, "../..");

test("the command is told as it can be called: from the package, the repository, or elsewhere", () => {
  expect(sourceFolder).toBe(root);
  expect(ownCommand(root, null)).toBe("npx tidegate");
  expect(ownCommand(root)).toBe("npm run -s tidegate --");
  expect(ownCommand("/elsewhere", "/a/clone")).toBe("node /a/clone/src/cli/main.ts");
  expect(ownCommand("/elsewhere", "/my clone")).toBe("node '/my clone/src/cli/main.ts'");
});
