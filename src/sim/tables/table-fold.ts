// Table fold: compares every transaction on the tables of a world with the model, in the order in
// which they happened. Checkers report what it finds.
//   F1. After the first wrong row, rows are compared no more: everything later would be wrong too.

import type { HistoryEvent } from "../history.ts";
import type { FileRow, TableEvent } from "./table-events.ts";
import { differencesOf, type SimFileEvent, TableModel, valuesOf } from "./table-model.ts";
import { BAD_REASON } from "./tables-pipeline.ts";

export type TableGuarantee =
  | "rows-elected"
  | "rows-digested"
  | "trigger-once"
  | "quarantine-kept"
  | "leftovers-removed"
  | "promote-loses-nothing"
  | "replay-stays-apart"
  | "replay-same-content";

export interface TableFinding {
  readonly of: TableGuarantee;
  readonly at: number;
  readonly names: readonly string[];
  readonly message: string;
}

type Of<K extends TableEvent["kind"]> = Extract<HistoryEvent, { kind: K }>;

interface Replay {
  readonly entry: Of<"replay-registered">;
  /** As its commits filled it. */
  readonly shadow: TableModel;
  hash: string | null;
  promoted: number;
}

const isGood = ({ bad }: FileRow) => !bad;
const isAny = () => true;
const acceptedBy = ({ entry: { acceptsBad } }: Pick<Replay, "entry">) =>
  acceptsBad ? isAny : isGood;
const folded = new WeakMap<readonly HistoryEvent[], readonly TableFinding[]>();

/** What is wrong with the tables of a history; folded once. */
export function tableFindings(
  events: readonly HistoryEvent[],
  onReplaced: "delete" | "keep",
): readonly TableFinding[] {
  const existing = folded.get(events);
  if (existing !== undefined) return existing;
  const fold = new TableFold(onReplaced);
  for (const event of events) fold.add(event);
  folded.set(events, fold.findings);
  return fold.findings;
}

class TableFold {
  readonly findings: TableFinding[] = [];
  readonly #onReplaced: "delete" | "keep";
  readonly #files = new Map<string, SimFileEvent>();
  readonly #live: TableModel;
  readonly #visible = new Map<string, string>();
  readonly #replays = new Map<string, Replay>();
  /** The newest record of each object, and whether rows of it are in quarantine. */
  readonly #newest = new Map<string, { readonly name: string; quarantined: boolean }>();
  #isWrong = false;

  constructor(onReplaced: "delete" | "keep") {
    this.#onReplaced = onReplaced;
    this.#live = new TableModel(onReplaced);
  }

  add(event: HistoryEvent): void {
    switch (event.kind) {
      case "file":
        this.#files.set(event.name, event);
        return;
      case "table-write":
        this.#checkTrigger(event);
        this.#write(event);
        return;
      case "tables":
        this.#look(event);
        return;
      case "replay-registered":
        this.#register(event);
        return;
      case "replay-sealed":
        this.#sealed(event);
        return;
      case "replay-ended":
        this.#ended(event);
        return;
      default:
        this.#checkApart(event);
    }
  }

  #find(of: TableGuarantee, { at }: HistoryEvent, names: readonly string[], message: string): void {
    this.findings.push({ of, at, names, message });
  }

  /** A trigger fires once for each visible change. */
  #checkTrigger(event: Of<"table-write">): void {
    const touched = new Map<string, number>();
    const names = event.name === "" ? [] : [event.name];
    const { rows = [] } = this.#files.get(event.name) ?? {};
    for (const [id, value] of event.changes) {
      const times = (touched.get(id) ?? 0) + 1;
      touched.set(id, times);
      // A large file with several rows of one key writes each of them.
      if (times > Math.max(1, rows.filter((row) => row.id === id).length)) {
        this.#find("trigger-once", event, names, `${id} changed ${times} times at once`);
      }
      if ((this.#visible.get(id) ?? null) === value) {
        this.#find("trigger-once", event, names, `${id} was written again as ${value}`);
      }
      if (value === null) this.#visible.delete(id);
      else this.#visible.set(id, value);
    }
  }

  #write(event: Of<"table-write">): void {
    const file = this.#files.get(event.name);
    const replay = this.#replays.get(event.run);
    switch (event.what) {
      case "record":
        if (file === undefined) return;
        this.#live.apply(file, valuesOf(file, 0, event.quarantines ? isGood : isAny));
        this.#newest.set(file.object, { name: file.name, quarantined: event.quarantines });
        break;
      case "redrive":
        if (file !== undefined && !event.quarantines) this.#redriven(file);
        break;
      case "replay":
        if (file === undefined || replay === undefined) break;
        replay.shadow.apply(file, valuesOf(file, replay.entry.code, acceptedBy(replay)));
        break;
      case "promotion":
        if (replay !== undefined) this.#promoted(event, replay);
        break;
      case "other":
        break;
    }
    this.#compare(event);
  }

  #redriven(file: SimFileEvent): void {
    this.#live.add(
      file,
      valuesOf(file, 0, ({ bad }) => bad),
    );
    const newest = this.#newest.get(file.object);
    if (newest?.name === file.name) newest.quarantined = false;
  }

  #promoted(event: Of<"table-write">, replay: Replay): void {
    replay.promoted += 1;
    if (replay.promoted > 1) {
      const message = `the replay ${event.run} was promoted twice`;
      this.#find("promote-loses-nothing", event, [], message);
    }
    this.#live.promote(replay.shadow);
  }

  #compare(event: Of<"table-write">): void {
    const { what, run, name, changes } = event;
    const names = name === "" ? [] : [name];
    if (what === "replay" || what === "other") {
      const [change] = changes;
      if (change === undefined) return;
      const writer = what === "replay" ? "a replay" : "a write outside of commits";
      const message = `${writer} changed the live row ${change[0]}`;
      this.#find("replay-stays-apart", event, names, message);
      return;
    }
    if (this.#isWrong) return; // F1
    const [first] = differencesOf(this.#visible, this.#live.rows());
    if (first === undefined) return;
    this.#isWrong = true;
    if (what !== "promotion") this.#find("rows-elected", event, names, `after ${name}, ${first}`);
    else {
      const message = `after the promotion of ${run}, ${first}`;
      this.#find("promote-loses-nothing", event, names, message);
    }
  }

  #look(event: Of<"tables">): void {
    const [wrong] = differencesOf(asTable(event.rows), this.#visible);
    if (wrong !== undefined) {
      this.#find("trigger-once", event, [], `the trigger missed a change: ${wrong}`);
    }
    if (event.phase === "end" && event.leftovers.length > 0) {
      const message = `remains of dead attempts: ${event.leftovers.join(", ")}`;
      this.#find("leftovers-removed", event, [], message);
    }
    for (const each of event.misjudged) {
      this.#find("rows-digested", event, [], `a check of the rows reports ${each}`);
    }
    this.#checkQuarantine(event);
  }

  #checkQuarantine(event: Of<"tables">): void {
    const wanted = new Map<string, string>();
    for (const { name, quarantined } of this.#newest.values()) {
      const rows = quarantined ? (this.#files.get(name)?.rows ?? []) : [];
      for (const { id, line, bad } of rows) if (bad) wanted.set(`${name} line ${line}`, id);
    }
    for (const { name, id, line, reason } of event.quarantined) {
      const row = `${name} line ${line}`;
      const expected = wanted.get(row);
      const wrong =
        expected === undefined
          ? "is in quarantine, and should not be there, or not twice"
          : expected !== id || !reason.includes(BAD_REASON)
            ? `is in quarantine as ${id}, because "${reason}"`
            : null;
      wanted.delete(row);
      if (wrong !== null) this.#find("quarantine-kept", event, [name], `${row} ${wrong}`);
    }
    for (const row of wanted.keys()) {
      const [name = ""] = row.split(" ");
      this.#find("quarantine-kept", event, [name], `${row} is lost from quarantine`);
    }
  }

  #register(entry: Of<"replay-registered">): void {
    const { run, generation, shadow } = entry;
    for (const other of this.#replays.values()) {
      if (other.entry.run === run) return;
      if (other.entry.generation !== generation && other.entry.shadow !== shadow) continue;
      const message = `the replays ${run} and ${other.entry.run} share generation or shadow`;
      this.#find("replay-stays-apart", entry, [], message);
    }
    const model = new TableModel(this.#onReplaced);
    this.#replays.set(run, { entry, shadow: model, hash: null, promoted: 0 });
  }

  /** The content of a shadow depends on the frozen inputs only, not on what interrupted it. */
  #sealed(event: Of<"replay-sealed">): void {
    const replay = this.#replays.get(event.run);
    if (replay === undefined) return;
    const { names, code } = replay.entry;
    const expected = new TableModel(this.#onReplaced);
    for (const name of names) {
      const file = this.#files.get(name);
      if (file === undefined) continue;
      expected.apply(file, valuesOf(file, code, acceptedBy(replay)));
    }
    const [wrong] = differencesOf(asTable(event.rows), expected.rows());
    if (wrong !== undefined) {
      const message = `the shadow of ${event.run} is not what its inputs give: ${wrong}`;
      this.#find("replay-same-content", event, [], message);
    }
    if (replay.hash !== null && replay.hash !== event.hash) {
      const message = `the shadow of ${event.run} has another content hash than before`;
      this.#find("replay-same-content", event, [], message);
    }
    replay.hash = event.hash;
  }

  #ended(event: Of<"replay-ended">): void {
    const promoted = this.#replays.get(event.run)?.promoted ?? 0;
    if (event.how !== "promoted" || promoted > 0) return;
    const message = `the replay ${event.run} is said to be promoted, and is not`;
    this.#find("promote-loses-nothing", event, [], message);
  }

  /** A replay uses neither the queue nor the records of the live pipeline. */
  #checkApart(event: HistoryEvent): void {
    if (!event.actor.startsWith("replay-")) return;
    if (event.kind === "process" || event.kind === "drew") return;
    const names = "name" in event ? [event.name] : [];
    const message = `${event.actor} touched the live pipeline (${event.kind})`;
    this.#find("replay-stays-apart", event, names, message);
  }
}

function asTable(rows: readonly (readonly [string, string | null])[]): ReadonlyMap<string, string> {
  return new Map(rows.map(([id, value]) => [id, value ?? ""]));
}
