// CSV options: validates the `csv` field of a pipeline, which may have been written without types.

import { CSV_ENCODINGS, type CsvOptions } from "../../core/csv-format.ts";
import { isObject } from "../../core/is-object.ts";
import { unknownFields } from "./spec-fields.ts";

const FIELDS: Readonly<Record<keyof CsvOptions, true>> = {
  delimiter: true,
  quote: true,
  encoding: true,
  header: true,
  skipLines: true,
  decimalComma: true,
};
const SKIP_LINES_MAX = 1_000_000;

export function csvProblems(given: unknown): string[] {
  if (given === undefined) return [];
  if (!isObject(given)) return ["csv must be an object"];
  const { delimiter = ",", quote = '"', encoding, header = true, skipLines, decimalComma } = given;
  const problems = unknownFields("csv", given, FIELDS);
  const check = (holds: boolean, problem: string) => void (holds || problems.push(problem));
  check(isSign(delimiter), 'csv.delimiter must be one character, such as ";" or "\\t"');
  check(quote === null || isSign(quote), "csv.quote must be one character, or null for none");
  check(delimiter !== quote, "csv.delimiter and csv.quote must differ");
  const isEncoding = encoding === undefined || CSV_ENCODINGS.some((name) => name === encoding);
  check(isEncoding, `csv.encoding must be ${CSV_ENCODINGS.join(", ")}`);
  const isHeader = typeof header === "boolean" || areNames(header);
  check(isHeader, "csv.header must be true, false, or a list of different names");
  const skips = skipLines === undefined || isCount(skipLines);
  check(skips, `csv.skipLines must be a whole number from 0 to ${SKIP_LINES_MAX}`);
  check(
    decimalComma === undefined || areNames(decimalComma),
    "csv.decimalComma must be a list of different column names",
  );
  return problems;
}

function isSign(value: unknown): boolean {
  return typeof value === "string" && [...value].length === 1 && !/[\r\n]/.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= SKIP_LINES_MAX;
}

function areNames(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false;
  const texts = value.every((name) => typeof name === "string");
  return texts && new Set(value).size === value.length;
}
