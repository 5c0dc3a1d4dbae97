import { join } from "node:path";
import { expect, test } from "vitest";
import { ownCommand, sourceFolder } from "./own-command.ts";

const root = join(import.meta.dirname, "../..");

test("the command is shown as it works in the package, in the repository, or elsewhere (O1)", () => {
  expect(sourceFolder).toBe(root);
  expect(ownCommand(root, null)).toBe("npx tidegate");
  expect(ownCommand(root)).toBe("npm run -s tidegate --");
  const elsewhere = (clone: string, node: string) => ownCommand("/elsewhere", clone, node);
  expect(elsewhere("/a/clone", "/bin/node")).toBe("node /a/clone/src/cli/main.ts");
  expect(elsewhere("/a/clone", "/a/clone/node")).toBe("/a/clone/node /a/clone/src/cli/main.ts");
  expect(elsewhere("/my clone", "/bin/node")).toBe("node '/my clone/src/cli/main.ts'");
});
