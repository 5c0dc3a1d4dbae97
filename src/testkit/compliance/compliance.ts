// Compliance: runs the checks against a producer, as tests of any runner or as one report.
//   M1. Every check has its own world and its own events, so that checks run in any order and a
//       producer that remembers sent events is judged fairly.

import type { JsonObject } from "../../core/encoding/canonical-json.ts";
import { reasonOf } from "../../core/errors.ts";
import { createSeededRandom } from "../../core/seeded-random.ts";
import { type CheckWorld, COMPLIANCE_CHECKS, type ComplianceCheck } from "./compliance-checks.ts";
import {
  type ComplianceEvent,
  type ProducerUnderTest,
  receivedEventsOf,
} from "./compliance-world.ts";

export type { ProducerUnderTest };

/** Describes the sample events, for producers that do not accept any event. */
export interface ComplianceOptions {
  /** Payload of the sample events, for producers that accept only certain payloads. */
  readonly payload?: JsonObject;
  /** `event_source` of the sample events. Default: a sample source. */
  readonly source?: string;
}

/** One check as a test. Checks are independent and run in any order. */
export interface ComplianceTest {
  /** A short name that does not change between versions. */
  readonly name: string;
  /** The guarantee that the check tests, as a test title. */
  readonly title: string;
  /** Rejects with a ComplianceError if the producer does not comply. */
  run(): Promise<void>;
}

/** The result of one check. */
export interface ComplianceResult {
  /** A short name that does not change between versions. */
  readonly name: string;
  /** The guarantee that the check tests. */
  readonly title: string;
  /** Null where the producer complies. */
  readonly problem: string | null;
  /** How to make the producer comply. */
  readonly fix: string;
}

/** A violation of the contract, and how to fix it. */
export class ComplianceError extends Error {
  override readonly name = "ComplianceError";
}

const SAMPLE_SOURCE = "kfm.compliance.sample";
const SAMPLE_PAYLOAD: JsonObject = {
  collection: "landsat",
  tile: "p32r29",
  bands: { red: 4, green: 3 },
};

/**
 * The checks as tests for any runner:
 * `complianceTests(producer).forEach(({ title, run }) => test(title, run))`.
 */
export function complianceTests(
  producer: ProducerUnderTest,
  options: ComplianceOptions = {},
): ComplianceTest[] {
  return COMPLIANCE_CHECKS.map((check) => ({
    name: check.name,
    title: check.title,
    async run() {
      const problem = await problemOf(check, producer, options);
      if (problem !== null) throw new ComplianceError(`${problem}. ${check.fix}`);
    },
  }));
}

/** Runs every check and returns the result of each. */
export async function runCompliance(
  producer: ProducerUnderTest,
  options: ComplianceOptions = {},
): Promise<ComplianceResult[]> {
  const results: ComplianceResult[] = [];
  for (const check of COMPLIANCE_CHECKS) {
    const problem = await problemOf(check, producer, options);
    results.push({ name: check.name, title: check.title, problem, fix: check.fix });
  }
  return results;
}

async function problemOf(
  check: ComplianceCheck,
  producer: ProducerUnderTest,
  options: ComplianceOptions,
): Promise<string | null> {
  try {
    return await check.run(worldOf(check, producer, options));
  } catch (error) {
    return `the producer failed: ${reasonOf(error)}`;
  }
}

function worldOf(
  check: ComplianceCheck,
  producer: ProducerUnderTest,
  options: ComplianceOptions,
): CheckWorld {
  const { source = SAMPLE_SOURCE, payload = SAMPLE_PAYLOAD } = options;
  const random = createSeededRandom(check.name);
  return {
    event(name, more = {}): ComplianceEvent {
      return {
        source,
        dedupeKey: `${check.name}/${name}`, // M1
        eventTime: "2026-11-15T08:00:00.000Z",
        payload,
        eventId: random.uuid(),
        traceparent: `00-${random.uuid().replaceAll("-", "")}-00f067aa0ba902b7-01`,
        ...more,
      };
    },
    produce: (steps) => receivedEventsOf(producer, steps),
  };
}

const INDENT = " ".repeat(8);

/** The results as lines for a terminal or a log. */
export function complianceReport(results: readonly ComplianceResult[]): string[] {
  const lines = results.flatMap(({ title, problem, fix }) =>
    problem === null
      ? [`  ok    ${title}`]
      : [`  FAIL  ${title}`, `${INDENT}${problem}.`, `${INDENT}Fix: ${fix}`],
  );
  const passed = results.filter(({ problem }) => problem === null).length;
  return [...lines, "", `${passed} of ${results.length} checks passed.`];
}
