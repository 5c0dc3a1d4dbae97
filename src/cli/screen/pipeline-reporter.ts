// Pipeline reporter: what `tidegate run` and `tidegate dev` say while they run: a screen for a
// terminal, plain lines for a pipe, lines of JSON for a program.
//   R1. In a pipe, a line is printed when counts changed, at most one in LINE_MS, and one at
//       the end.
//   R2. Every line of JSON has `event`; stdout holds nothing else then.
//   R3. Lines of the log go to stderr as they are, unless that is the terminal with the screen on
//       it: then their message is printed above the screen.

import type { ConsumerSnapshot } from "../../ingest/running/consumer.ts";
import { createLiveScreen, type LiveScreen } from "./live-screen.ts";
import type { Output } from "./output.ts";
import { summaryLine, summaryScreen } from "./pipeline-summary.ts";

export type ReportMode = "live" | "plain" | "json";

/** What a reporter asks of a running pipeline. */
export interface Reported {
  readonly name: string;
  snapshot(): ConsumerSnapshot;
  deadLetterDepth(): Promise<number | null>;
}

export interface PipelineReporter {
  /** Takes the log's lines; undefined leaves them to stderr (R3). */
  readonly onLogLine: ((line: string) => void) | undefined;
  /** The ready line: `text` for people, `facts` for programs. */
  ready(text: string, facts: object): void;
  /** Something to know besides: `text` for people, and for programs as that event. */
  tell(event: string, text: string): void;
  /** Lines for people only. */
  hint(lines: readonly string[]): void;
  /** Begins to report on `running`. */
  watch(running: Reported, source: string): void;
  /** Prints the last state and ends. */
  close(): void;
}

const SCREEN_MS = 250;
const LINE_MS = 5_000;
const DEPTH_MS = 2_000;
/** Weight of the newest second in the rate shown. */
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
    tell(event, text) {
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

/** Level, message and object of a line of the log. */
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
  const look = () => {
    const snapshot = running.snapshot();
    const counts = countsOf(snapshot);
    if (counts === last) return;
    last = counts;
    print(snapshot);
  };
  const timer = setInterval(look, LINE_MS).unref(); // R1
  return () => {
    clearInterval(timer);
    print(running.snapshot());
  };
}

/** What must change for a new line to be worth printing. */
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
  const ask = async () => {
    deadLetters = await running.deadLetterDepth();
  };
  const timers = [setInterval(draw, SCREEN_MS).unref(), setInterval(ask, DEPTH_MS).unref()];
  draw();
  return () => {
    for (const timer of timers) clearInterval(timer);
    draw();
  };
}
