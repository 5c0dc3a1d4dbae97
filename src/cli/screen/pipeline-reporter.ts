// Pipeline reporter: the output of `tidegate run` and `tidegate dev` while they run. A live screen
// on a terminal, plain lines in a pipe, JSON lines for a program.
//   R1. In a pipe, a line is printed when counts have changed, at most one per LINE_MS, and one at
//       the end.
//   R2. Every JSON line has `event`; stdout contains nothing else.
//   R3. Log lines go to stderr unchanged. If stderr is the terminal with the live screen, only
//       their message is printed, above the screen.

import type { ConsumerSnapshot } from "../../run/combine-running.ts";
import { createLiveScreen, type LiveScreen } from "./live-screen.ts";
import type { Output } from "./output.ts";
import { summaryLine, summaryScreen } from "./pipeline-summary.ts";

export type ReportMode = "live" | "plain" | "json";

/** The part of a running pipeline that a reporter reads. */
export interface Reported {
  readonly name: string;
  snapshot(): ConsumerSnapshot;
  deadLetterDepth(): Promise<number | null>;
}

export interface PipelineReporter {
  /** Receives log lines; undefined leaves them to stderr (R3). */
  readonly onLogLine: ((line: string) => void) | undefined;
  /** The ready line: `text` for people, `facts` for programs. */
  ready(text: string, facts: object): void;
  /** Something that happened: `text` for people, an event for programs. */
  event(event: string, text: string): void;
  /** Lines for people only. */
  hint(lines: readonly string[]): void;
  /** Starts reporting on `running`. */
  watch(running: Reported, source: string): void;
  /** Prints the final state and stops. */
  close(): void;
}

const SCREEN_MS = 250;
const LINE_MS = 5_000;
const DEPTH_MS = 2_000;
/** Weight of the last second in the displayed rate. */
const RATE_WEIGHT = 0.3;

export function createReporter(out: Output, mode: ReportMode): PipelineReporter {
  const screen = mode === "live" ? createLiveScreen(process.stdout) : null;
  const note = (text: string) => (screen === null ? out.note(text) : screen.print(text));
  const json = (event: string, facts: object) => out.line(JSON.stringify({ event, ...facts }));
  let stopWatching = () => {};
  return {
    onLogLine: screen !== null && process.stderr.isTTY ? (line) => note(briefOf(line)) : undefined,
    ready(text, facts) {
      if (mode === "json") json("ready", facts);
      else if (screen === null) out.line(text);
      else screen.print(text);
    },
    event(event, text) {
      if (mode === "json") json(event, { message: text });
      else note(text);
    },
    hint(lines) {
      if (mode !== "json") for (const line of lines) note(line);
    },
    watch(running, source) {
      stopWatching =
        screen === null
          ? watchByLines(running, (snapshot) =>
              mode === "json" ? json("progress", snapshot) : out.line(summaryLine(snapshot)),
            )
          : watchOnScreen(running, source, screen);
    },
    close() {
      stopWatching();
      stopWatching = () => {};
      screen?.close();
    },
  };
}

/** Level, message and object of a log line. */
function briefOf(line: string): string {
  try {
    const { level, msg, object_key: object } = JSON.parse(line) as Record<string, string>;
    return `${level}: ${msg}${object === undefined ? "" : ` (${object})`}`;
  } catch {
    return line.trimEnd();
  }
}

function watchByLines(running: Reported, print: (snapshot: ConsumerSnapshot) => void): () => void {
  let last = countsOf(running.snapshot());
  const report = () => {
    const snapshot = running.snapshot();
    const counts = countsOf(snapshot);
    if (counts === last) return;
    last = counts;
    print(snapshot);
  };
  const timer = setInterval(report, LINE_MS).unref(); // R1
  return () => {
    clearInterval(timer);
    print(running.snapshot());
  };
}

/** The counts whose change is worth a line. */
function countsOf({ watermark: _, oldestUnsettledAt: __, ...counts }: ConsumerSnapshot): string {
  return JSON.stringify(counts);
}

function watchOnScreen(running: Reported, source: string, screen: LiveScreen): () => void {
  const startedAt = Date.now();
  let rate = 0;
  let committed = 0;
  let countedAt = startedAt;
  let deadLetters: number | null = null;
  const draw = () => {
    const nowMs = Date.now();
    const snapshot = running.snapshot();
    if (nowMs - countedAt >= 1_000) {
      const fresh = ((snapshot.committed - committed) * 1_000) / (nowMs - countedAt);
      rate = rate * (1 - RATE_WEIGHT) + fresh * RATE_WEIGHT;
      committed = snapshot.committed;
      countedAt = nowMs;
    }
    const runningMs = nowMs - startedAt;
    const facts = { name: running.name, source, runningMs, nowMs, rate, deadLetters };
    screen.show(summaryScreen(snapshot, facts, screen.columns));
  };
  const updateDepth = async () => {
    deadLetters = await running.deadLetterDepth();
  };
  const timers = [setInterval(draw, SCREEN_MS).unref(), setInterval(updateDepth, DEPTH_MS).unref()];
  draw();
  return () => {
    for (const timer of timers) clearInterval(timer);
    draw();
  };
}
