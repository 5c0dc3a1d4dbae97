// Live screen: a few lines at the bottom of a terminal that are redrawn in place.
//   V1. At most one redraw in REDRAW_MS, and none where nothing changed.
//   V2. The cursor is hidden while the screen lives and shown again however the process ends.
//   V3. No line is wider than the terminal and no screen higher: a wrapped line could not be drawn
//       over again.

export interface ScreenStream {
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  write(text: string): unknown;
}

export interface LiveScreen {
  /** The width to lay lines out for. */
  readonly columns: number;
  show(lines: readonly string[]): void;
  /** Writes lines that stay, above the screen. */
  print(text: string): void;
  /** Draws what was shown last, and leaves it there. */
  close(): void;
}

const REDRAW_MS = 250;
const COLUMNS_USUAL = 80;
const ROWS_USUAL = 24;
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

  // A terminal that does not know its size says that it is zero.
  const columns = () => stream.columns || COLUMNS_USUAL;
  const home = () => `${height === 0 ? "" : `${ESCAPE}${height}A`}\r${CLEAR_BELOW}`;

  function draw(): void {
    const rowsMax = Math.max(1, (stream.rows || ROWS_USUAL) - 1);
    const lines = wanted.slice(0, rowsMax).map((line) => cut(line, columns())); // V3
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
      stream.write(`${home()}${text}\n`);
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

/** At most `width` characters, of which the last says that there were more. */
function cut(line: string, width: number): string {
  const characters = [...line];
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join("")}…`;
}
