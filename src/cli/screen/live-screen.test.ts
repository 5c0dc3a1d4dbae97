import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLiveScreen } from "./live-screen.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const HIDE = "\u001b[?25l";
const SHOW = "\u001b[?25h";

function terminal(columns = 20, rows = 10) {
  const writes: string[] = [];
  return { columns, rows, writes, write: (text: string) => void writes.push(text) };
}

test("the cursor is hidden while the screen is open, and shown after it (V2)", () => {
  const stream = terminal();
  const listeners = process.listenerCount("exit");
  const screen = createLiveScreen(stream);
  expect(process.listenerCount("exit")).toBe(listeners + 1);
  screen.close();
  screen.close();
  expect(stream.writes).toEqual([HIDE, SHOW]);
  expect(process.listenerCount("exit")).toBe(listeners);
});

test("the screen is redrawn in place with the latest lines, at most four times a second (V1)", () => {
  const stream = terminal();
  const screen = createLiveScreen(stream);
  for (let at = 0; at < 990; at += 10) {
    screen.show(["count", String(at)]);
    vi.advanceTimersByTime(10);
  }
  const drawn = stream.writes.filter((text) => text.includes("count"));
  expect(drawn.length).toBeLessThanOrEqual(4);
  expect(drawn.at(1)).toContain("[2A\r");
  screen.close();
  expect(stream.writes.at(-2)).toContain("980");
});

test("nothing is written if nothing changed (V1)", () => {
  const stream = terminal();
  const screen = createLiveScreen(stream);
  screen.show(["same"]);
  const { length } = stream.writes;
  vi.advanceTimersByTime(1_000);
  screen.show(["same"]);
  vi.advanceTimersByTime(1_000);
  expect(stream.writes).toHaveLength(length);
});

test("lines are cut to the width and the height of the terminal", () => {
  const stream = terminal(8, 3);
  const screen = createLiveScreen(stream);
  screen.show(["0123456789", "b", "c", "d"]);
  expect(stream.writes.at(-1)).toBe("\r\u001b[J0123456…\nb\n");
});

test("codes and line feeds in lines are escaped, the screen's own are not (V4)", () => {
  const stream = terminal(80);
  const screen = createLiveScreen(stream);
  screen.show(["a\u001b[2J\nb\u202e"]);
  expect(stream.writes.at(-1)).toBe("\r\u001b[Ja\\u001b[2J\\u000ab\\u202e\n");
  screen.print("note\u009b31m");
  expect(stream.writes.at(-2)).toBe("\u001b[1A\r\u001b[Jnote\\u009b31m\n");
});

test("printed lines stay above, and the screen is redrawn below them", () => {
  const stream = terminal();
  const screen = createLiveScreen(stream);
  screen.show(["screen"]);
  screen.print("a note");
  expect(stream.writes.slice(-2)).toEqual(["\u001b[1A\r\u001b[Ja note\n", "\r\u001b[Jscreen\n"]);
});

test("a terminal of unknown size is treated as 80 by 24", () => {
  const stream = terminal(0, 0);
  const screen = createLiveScreen(stream);
  screen.show(["received 1", "in progress 0"]);
  screen.close();
  expect(stream.writes.join("")).toContain("received 1\nin progress 0\n");
  expect(screen.columns).toBe(80);
});
