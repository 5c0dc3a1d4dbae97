import { expect, test } from "vitest";
import type { Dossier } from "../../ingest/dead-letters/dossier.ts";
import type { RedriveSummary } from "../../ingest/dead-letters/redrive.ts";
import { dossierLines, redriveSummaryLine } from "./dead-letter-text.ts";

const DOSSIER = {
  pipeline: "shop",
  generation: 0,
  record_key: "k1:a",
  idempotency_key: "e1",
  error_class: "order",
  fingerprint: "f",
  message: "not an order",
  attempts: 1,
  took_ms: 3,
  first_failed_at: 0,
  last_failed_at: 0,
  queue: "shop",
  run_id: "r",
  trace_id: null,
  object: null,
  stack: null,
  dead_letter: null,
  payload: {},
} as unknown as Dossier;

test.each([
  [1, "shop, received 1 time"],
  [3, "shop, received 3 times"],
])("a message received %i times is described in plain English", (count, text) => {
  const lines = dossierLines({ ...DOSSIER, receive_count: count }, "parked");
  expect(lines.find((line) => line.includes("received"))?.trim()).toBe(`queue        ${text}`);
});

const SUMMARY: RedriveSummary = {
  planned: 0,
  sent: 6,
  reopened: 0,
  committedBefore: 0,
  refused: 0,
  missing: 0,
  committed: 0,
  overtaken: 0,
  failedAgain: 6,
  waiting: 0,
  stopped: "too-many-failed",
};

test("a redrive says that it stopped only if dead letters remain", () => {
  const line = "6 redriven: 0 committed, 6 failed again, 0 still waiting.";
  expect(redriveSummaryLine(SUMMARY, 6)).toBe(line);
  expect(redriveSummaryLine(SUMMARY, 30)).toBe(
    `${line} Stopped before the rest: too many failed again.`,
  );
});
