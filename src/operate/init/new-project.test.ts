import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { useTemporaryFolder } from "../../../test/support/temporary-folder.ts";
import { projectName, writeProject } from "./new-project.ts";

const folder = useTemporaryFolder("init");

test("a project is written into a folder that need not exist, named after it", () => {
  const project = join(folder, "Daily Orders");
  const files = writeProject(project, "^1.2.3");
  const written = readdirSync(project, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(project, join(parentPath, name)));
  expect(written.toSorted()).toEqual([...files].toSorted());
  const described = JSON.parse(readFileSync(join(project, "package.json"), "utf8"));
  const { peerDependencies: peers } = JSON.parse(readFileSync("package.json", "utf8"));
  const sdk = ["@aws-sdk/client-s3", "@aws-sdk/client-sqs"].map((name) => [name, peers[name]]);
  const dependencies = { ...Object.fromEntries(sdk), tidegate: "^1.2.3" };
  expect(described).toMatchObject({ name: "daily-orders", dependencies });
  expect(Object.keys(described.devDependencies)).toEqual(["@types/node", "typescript"]);
  const ignored = readFileSync(join(project, ".gitignore"), "utf8").split("\n");
  expect(ignored).toEqual(expect.arrayContaining(["node_modules/", ".tidegate/", "inbox/"]));
  const text = readFileSync(join(project, "pipeline.ts"), "utf8");
  expect(text).toContain(`source: { bucket: "daily-orders", prefix: "in/" }`);
});

test("if one of the files exists, none is written (N1)", () => {
  writeFileSync(join(folder, "README.md"), "mine");
  expect(() => writeProject(folder, "^1.2.3")).toThrow(
    "already has README.md; nothing was written",
  );
  expect(readFileSync(join(folder, "README.md"), "utf8")).toBe("mine");
  expect(readdirSync(folder)).not.toContain("package.json");
});

test("a file that cannot be written is named in the error", () => {
  const project = join(folder, "linked");
  mkdirSync(project);
  symlinkSync(join(project, "nowhere", "at-all"), join(project, "tsconfig.json"));
  const error = { code: "TG_CONFIG_INVALID", message: expect.stringMatching(/^cannot write /) };
  expect(() => writeProject(project, "^1.2.3")).toThrow(expect.objectContaining(error));
});

test.each([
  ["orders", "orders"],
  ["a/b/My_Files 2", "my-files-2"],
  ["42", "my-pipeline"],
  ["x", "my-pipeline"],
  ["y".repeat(80), "my-pipeline"],
])("the folder %s gives the name %s, which is valid for a bucket", (path, name) => {
  expect(projectName(path)).toBe(name);
});
