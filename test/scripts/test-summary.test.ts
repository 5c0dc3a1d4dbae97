import { expect, test } from "vitest";
import { type ReportedModule, summarize } from "../../scripts/test-summary.ts";

type Result = { state: string; note?: string };

function module(results: Result[], errors: string[] = [], suiteErrors: string[] = []) {
  return {
    relativeModuleId: "some.test.ts",
    diagnostic: () => ({ duration: 0, collectDuration: 0 }),
    errors: () => errors,
    children: {
      allTests: () => results.map((result) => ({ result: () => result })),
      allSuites: () => [{ errors: () => suiteErrors }],
    },
  } satisfies ReportedModule;
}

test("tests are counted by their result, over all files", () => {
  const files = [
    module([{ state: "passed" }, { state: "failed" }]),
    module([{ state: "passed" }, { state: "skipped", note: "java is missing" }]),
  ];
  expect(summarize(files, 0)).toMatchObject({ passed: 2, failed: 1, skipped: 1 });
});

test("a file that cannot be loaded, a failing hook and an uncaught error each count as failed", () => {
  expect(summarize([module([], ["syntax error"])], 0).failed).toBe(1);
  expect(summarize([module([{ state: "skipped" }], [], ["beforeAll threw"])], 0).failed).toBe(1);
  expect(summarize([module([{ state: "passed" }])], 1).failed).toBe(1);
});

test("a test that never ended counts as failed", () => {
  expect(summarize([module([{ state: "pending" }])], 0).failed).toBe(1);
});

test("each reason for skipping is printed once, with its number of tests", () => {
  const missing = { state: "skipped", note: "java is missing" };
  const { skipLines } = summarize([module([missing, missing]), module([missing])], 0);
  expect(skipLines).toEqual(["skipped 3: java is missing"]);
});

test("the ten longest files are listed, longest first", () => {
  const files = Array.from({ length: 12 }, (_, at) => ({
    ...module([{ state: "passed" }]),
    relativeModuleId: `${at}.test.ts`,
    diagnostic: () => ({ duration: at * 1_000, collectDuration: 500 }),
  }));
  const { longLines } = summarize(files, 0);
  expect(longLines).toHaveLength(10);
  expect(longLines.slice(0, 2)).toEqual(["  11.5 s  11.test.ts", "  10.5 s  10.test.ts"]);
});
