// Live screen: a few lines at the bottom of a terminal that are redrawn in place.
//   V1. It redraws at most once per REDRAW_MS, and only if something changed.
//   V2. The cursor is hidden while the screen is open, and shown again however the process ends.
//   V3. No line is wider than the terminal, and the screen is not higher: a wrapped line could not
//       be overwritten.
//   V4. Only the screen's own codes reach the terminal; those in its lines are escaped.

import { printable, printableLine } from "../../core/encoding/printable.ts";

export interface ScreenStream {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

export interface LiveScreen {
  /** The width of the terminal. */
  readonly columns: number;
  show(lines: readonly string[]): void;
  /** Writes permanent lines above the screen. */
  print(text: string): void;
  /** Draws the latest lines and leaves them. */
  close(): void;
}

const REDRAW_MS = 250;
const COLUMNS_DEFAULT = 80;
const ROWS_DEFAULT = 24;
const ESCAPE = "\u001b[";
const HIDE_CURSOR = `${ESCAPE}?25l`;
const SHOW_CURSOR = `${ESCAPE}?25h`;
const CLEAR_BELOW = `${ESCAPE}J`;

export function createLiveScreen(stream: ScreenStream): LiveScreen {
  let wanted: readonly string[] = [];
  let drawn = "";
  let height = 0;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let closed = false;
  let timer: ReturnType<typeof setTimeout> | null = null;
  const restore = () => void stream.write(SHOW_CURSOR);
  process.on("exit", restore); // V2
  stream.write(HIDE_CURSOR);

  // A terminal of unknown size reports zero.
  const columns = () => stream.columns || COLUMNS_DEFAULT;
  const home = () => `${height === 0 ? "" : `${ESCAPE}${height}A`}\r${CLEAR_BELOW}`;

  function draw(): void {
    const rowsMax = Math.max(1, (stream.rows || ROWS_DEFAULT) - 1);
    const safe = wanted.slice(0, rowsMax).map(printableLine); // V4
    const lines = safe.map((line) => cut(line, columns())); // V3
    const text = lines.map((line) => `${line}\n`).join("");
    timer = null;
    if (text === drawn) return; // V1
    stream.write(home() + text);
    drawn = text;
    height = lines.length;
    drawnAt = performance.now();
  }

  return {
    get columns() {
      return columns();
    },
    show(lines) {
      wanted = lines;
      if (timer !== null) return;
      const wait = drawnAt + REDRAW_MS - performance.now();
      if (wait <= 0) draw();
      else timer = setTimeout(draw, wait).unref();
    },
    print(text) {
      stream.write(`${home()}${printable(text)}\n`);
      drawn = "";
      height = 0;
      draw();
    },
    close() {
      if (closed) return;
      closed = true;
      if (timer !== null) clearTimeout(timer);
      draw();
      process.off("exit", restore);
      restore();
    },
  };
}

/** At most `width` characters; an ellipsis marks a cut. */
function cut(line: string, width: number): string {
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join("")}…`;
}
