// Test summary: counts the results of a vitest run.
//   M1. Every problem counts as failed: a test, a hook, a file that could not be loaded, an
//       uncaught error.
//   M2. Each reason for skipping is printed once, with its number of tests.
//   M3. The longest files are listed, longest first: what to shorten when a run takes too long.

/** The part of vitest's report that the summary reads. */
export interface ReportedModule {
  readonly relativeModuleId: string;
  errors(): readonly unknown[];
  diagnostic(): { readonly duration: number; readonly collectDuration: number };
  readonly children: {
    allTests(): Iterable<ReportedTest>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

export interface ReportedTest {
  result(): { readonly state: string; readonly note?: string | undefined };
}

export interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly skipLines: readonly string[];
  readonly longLines: readonly string[];
}

const LONGEST = 10;
const NO_REASON = "marked with skip or todo";

export function summarize(modules: readonly ReportedModule[], uncaught: number): Summary {
  const counts = { passed: 0, failed: uncaught, skipped: 0 };
  const reasons = new Map<string, number>();
  for (const module of modules) {
    counts.failed += module.errors().length; // M1
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state, note = NO_REASON } = test.result();
      if (state === "passed") counts.passed += 1;
      else if (state === "skipped") {
        counts.skipped += 1;
        reasons.set(note, (reasons.get(note) ?? 0) + 1);
      } else counts.failed += 1;
    }
  }
  const skipLines = [...reasons].map(([note, tests]) => `skipped ${tests}: ${note}`); // M2
  return { ...counts, skipLines, longLines: longestOf(modules) };
}

/** M3 */
function longestOf(modules: readonly ReportedModule[]): string[] {
  const durationOf = (module: ReportedModule) => {
    const { duration, collectDuration } = module.diagnostic();
    return duration + collectDuration;
  };
  return modules
    .toSorted((a, b) => durationOf(b) - durationOf(a))
    .slice(0, LONGEST)
    .map((module) => `${seconds(durationOf(module))}  ${module.relativeModuleId}`);
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`.padStart(8);
}
