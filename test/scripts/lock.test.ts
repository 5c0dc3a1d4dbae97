import { expect, test } from "vitest";
import { completeLock, type Lock, missingFromLock } from "../../scripts/lock.ts";

const tool = {
  version: "1.2.3",
  dev: true,
  optionalDependencies: { "@tool/bin-linux-x64-musl": "1.2.3", "@tool/bin-darwin-arm64": "1.2.3" },
};
const lock: Lock = {
  packages: {
    "": {},
    "node_modules/tool": tool,
    "node_modules/tool/node_modules/@tool/bin-darwin-arm64": { version: "1.2.3" },
  },
};

test("an optional package that is missing from the lock is found; a nested one counts as locked", () => {
  expect(missingFromLock(lock).map(({ name }) => name)).toEqual(["@tool/bin-linux-x64-musl"]);
});

test("a completed lock contains the platform, so that npm installs the package only there", () => {
  expect(completeLock(lock).packages["node_modules/@tool/bin-linux-x64-musl"]).toEqual({
    version: "1.2.3",
    cpu: ["x64"],
    dev: true,
    libc: ["musl"],
    optional: true,
    os: ["linux"],
  });
});

test("completing a complete lock changes nothing", () => {
  const once = completeLock(lock);
  expect(JSON.stringify(completeLock(once))).toBe(JSON.stringify(once));
});

test("a version range is rejected, because only npm may choose among versions", () => {
  const packages = { "node_modules/a": { optionalDependencies: { "@a/linux-x64": "^1.0.0" } } };
  expect(() => completeLock({ packages })).toThrow(/exact version/);
});
