// Commit poster: hands the writes of a commit to the writing thread.
//   O1. A commit with little text is one message. A longer one is several messages of the same
//       transaction, each after the thread has finished the previous one. So a publish to a
//       thousand queues never exists as a whole, neither here nor in the thread.
//   O2. Commits reach the thread in the order of their posts: one that follows a long commit waits
//       for it. What it shares with the writer's pages is copied first, because the next commit may
//       change them.
//   O3. A part that was handed over is forgotten: only then can its text be collected.
//   O4. On a full disk, the thread may use the reserve for a commit (E4 of disk-thread-entry.ts).
//       Every part says so, because a part cannot be run again by itself.

import type { Write } from "./broker-statements.ts";
import type { DiskThread } from "./disk-thread.ts";

/** UTF-16 units of text in one message. */
export const PART_TEXT_MAX = 4 * 1_024 * 1_024;

export class CommitPoster {
  #posting: Promise<void> | null = null;

  /** Resolves once the commit is on disk. */
  post(thread: Pick<DiskThread, "write">, writes: readonly Write[], full = false): Promise<void> {
    const waits = this.#posting;
    const fits = textIn(writes) <= PART_TEXT_MAX;
    if (waits === null && fits) return thread.write(writes, { full }); // O1, O4
    const rest = writes.map(detached).reverse(); // O2
    const posted = (waits ?? Promise.resolve()).then(() => postParts(thread, rest, full));
    const ended = posted.then(ignore, ignore).then(() => {
      if (this.#posting === ended) this.#posting = null;
    });
    this.#posting = ended;
    return posted;
  }

  /** Resolves when no commit waits here. */
  async idle(): Promise<void> {
    while (this.#posting !== null) await this.#posting;
  }
}

function ignore(): void {
  // The promise that post() returned reports the failure.
}

/** `rest` has the last write first. */
async function postParts(
  thread: Pick<DiskThread, "write">,
  rest: Write[],
  full: boolean,
): Promise<void> {
  for (;;) {
    const part = takePart(rest);
    const isLast = rest.length === 0;
    await thread.write(part, { isLast, full }); // O4
    if (isLast) return;
  }
}

function takePart(rest: Write[]): Write[] {
  const part: Write[] = [];
  let units = 0;
  for (let next = rest.at(-1); next !== undefined; next = rest.at(-1)) {
    const added = textOf(next);
    if (part.length > 0 && units + added > PART_TEXT_MAX) break;
    units += added;
    part.push(next);
    rest.pop(); // O3
  }
  return part;
}

function detached(write: Write): Write {
  return write[0] === "putReceipts" ? [write[0], write[1], write[2].slice()] : write;
}

function textIn(writes: readonly Write[]): number {
  let units = 0;
  for (const write of writes) units += textOf(write);
  return units;
}

function textOf(write: Write): number {
  return write[0] === "insertBlock" ? write[1].text.length : 0;
}
