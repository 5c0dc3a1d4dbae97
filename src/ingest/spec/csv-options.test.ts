import { expect, test } from "vitest";
import { csvProblems } from "./csv-options.ts";

test.each([
  [{}],
  [{ delimiter: "\t", quote: null, encoding: "utf-16", header: false, skipLines: 2 }],
  [{ delimiter: "§", quote: "'", header: ["a", "b"], decimalComma: ["a"] }],
])("the options %j are accepted", (options) => {
  expect(csvProblems(options)).toEqual([]);
});

test.each([
  ["semicolon", "csv must be an object"],
  [{ delimiter: "" }, "csv.delimiter must be one character"],
  [{ delimiter: ", " }, "csv.delimiter must be one character"],
  [{ delimiter: "\n" }, "csv.delimiter must be one character"],
  [{ delimiter: '"' }, "csv.delimiter and csv.quote must differ"],
  [{ quote: "" }, "csv.quote must be one character, or null for none"],
  [{ encoding: "ascii" }, "csv.encoding must be auto, utf-8, utf-16,"],
  [{ header: [] }, "csv.header must be true, false, or a list of different names"],
  [{ header: ["a", "a"] }, "csv.header must be true, false, or a list of different names"],
  [{ skipLines: -1 }, "csv.skipLines must be a whole number from 0"],
  [{ decimalComma: "amount" }, "csv.decimalComma must be a list of different column names"],
  [{ seperator: ";" }, 'unknown field "seperator" in csv'],
])("the options %j are rejected with their fix", (options, problem) => {
  expect(csvProblems(options)).toEqual([expect.stringContaining(problem)]);
});
