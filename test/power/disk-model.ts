// Disk model: replays a recorded trace and builds the folders that a power cut could leave behind.
//   M1. A page is durable after a successful sync of its file, unless it is doubtful (M2). Until
//       then a power cut may keep it, drop it, or tear it between two sectors.
//   M2. A failed sync marks dirty pages clean without writing them, and makes them doubtful for the
//       life of the inode. Writing and syncing them again proves nothing: ext4 may write the blocks
//       and still treat them as unwritten. A power cut keeps what the file shows, or restores what
//       was durable before the failure: the older bytes, or zeros where there were none.
//   M3. A name (create, rename, link, unlink, mkdir) is durable after a sync of its folder. Until
//       then a power cut keeps the operations up to some point, in order. A failed sync of a folder
//       leaves them waiting for the next one.
//   M4. A failed sync takes away no byte that was durable before it. Nothing could survive that.
//   M5. A truncation is durable with the next sync. Pages that it cuts off stay doubtful when the
//       file grows again, but their older bytes are gone.
//   M6. Only a sync can fail halfway on disk. Other failed calls change nothing, except that a
//       failed write leaves its first half in the cache, which the trace has as a write.
//   M7. Memory pressure evicts clean pages from the cache. A doubtful page then shows what was
//       durable before its failure (R5 of record-disk.c).

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const PAGE = 4_096;
const SECTOR = 512;

export interface DiskEvent {
  /** Create, write, evict, truncate, sync, failed sync, rename, link, unlink, make a folder. */
  readonly kind: "C" | "W" | "E" | "T" | "S" | "F" | "R" | "L" | "U" | "M";
  readonly inode: number;
  readonly offset: number;
  readonly path: string;
  readonly bytes: Buffer;
}

/** What a power cut does to pages that are not synced yet. */
export type CutPolicy = "dropped" | "subset" | "torn";

export function parseTrace(trace: Buffer): DiskEvent[] {
  const events: DiskEvent[] = [];
  for (let at = 0; at < trace.length; ) {
    const end = trace.indexOf(10, at);
    const [kind = "", inode, a, b, ...path] = trace.toString("utf8", at, end).split(" ");
    const length = kind === "W" || kind === "E" ? Number(b) : 0;
    events.push({
      kind: kind as DiskEvent["kind"],
      inode: Number(inode),
      offset: Number(a),
      path: path.join(" "),
      bytes: trace.subarray(end + 1, end + 1 + length),
    });
    at = end + 1 + length;
  }
  return events;
}

interface ModelFile {
  cached: Buffer;
  durable: Buffer;
  readonly dirty: Set<number>;
  /** What each doubtful page had before the sync that failed (M2). */
  readonly doubtful: Map<number, Buffer>;
}

/** A change of names, waiting for a sync of its folder (M3). */
interface NameChange {
  readonly folders: readonly string[];
  apply(names: Map<string, ModelFile | "folder">): void;
}

export class DiskModel {
  readonly #root: string;
  readonly #byInode = new Map<number, ModelFile>();
  readonly #cachedNames = new Map<string, ModelFile | "folder">();
  readonly #durableNames = new Map<string, ModelFile | "folder">();
  #pendingNames: NameChange[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  /** The bytes of a file as the process sees them. */
  visible(path: string): Buffer {
    const file = this.#cachedNames.get(path);
    return file === undefined || file === "folder" ? Buffer.alloc(0) : file.cached;
  }

  apply(event: DiskEvent): void {
    switch (event.kind) {
      case "C":
        this.#create(event);
        return;
      case "M":
        this.#change([dirname(event.path)], (names) => void names.set(event.path, "folder"));
        return;
      case "W":
        write(this.#file(event.inode), event.offset, event.bytes);
        return;
      case "E":
        event.bytes.copy(this.#file(event.inode).cached, event.offset); // M7
        return;
      case "T":
        truncate(this.#file(event.inode), event.offset);
        return;
      case "S":
        this.#sync(event);
        return;
      case "F":
        failSync(this.#file(event.inode));
        return;
      case "R":
        this.#rename(event.path);
        return;
      case "L":
        this.#link(event.path);
        return;
      default:
        this.#change([dirname(event.path)], (names) => void names.delete(event.path));
    }
  }

  /** Writes what a power cut now leaves on disk below `target`. `random` gives numbers below 1. */
  cut(target: string, policy: CutPolicy, random: () => number): void {
    for (const [path, content] of this.survivors(policy, random)) {
      const copy = join(target, relative(this.#root, path));
      if (content === "folder") mkdirSync(copy, { recursive: true });
      else writeFileSync(copy, content);
    }
  }

  /** What a power cut now leaves on disk by path, folders before what they contain. */
  survivors(policy: CutPolicy, random: () => number): Map<string, Buffer | "folder"> {
    const names = new Map(this.#durableNames);
    const count = policy === "dropped" ? 0 : Math.floor(random() * (this.#pendingNames.length + 1));
    for (const change of this.#pendingNames.slice(0, count)) change.apply(names); // M3
    const survivors = new Map<string, Buffer | "folder">([[this.#root, "folder"]]);
    for (const [path, file] of [...names].sort(([a], [b]) => a.length - b.length)) {
      if (survivors.get(dirname(path)) !== "folder") continue; // Its folder did not survive.
      survivors.set(path, file === "folder" ? file : survivor(file, policy, random));
    }
    return survivors;
  }

  #file(inode: number): ModelFile {
    const file = this.#byInode.get(inode) ?? newFile();
    this.#byInode.set(inode, file);
    return file;
  }

  #create({ inode, path }: DiskEvent): void {
    const file = newFile(); // An inode number may be used again.
    this.#byInode.set(inode, file);
    this.#change([dirname(path)], (names) => void names.set(path, file));
  }

  #rename(paths: string): void {
    const [from = "", to = ""] = paths.split("\t");
    const file = this.#cachedNames.get(from);
    this.#change([dirname(from), dirname(to)], (names) => {
      names.delete(from);
      if (file !== undefined) names.set(to, file);
    });
  }

  /** Two names of one file: what is written and synced under one shows under the other. */
  #link(paths: string): void {
    const [from = "", to = ""] = paths.split("\t");
    const file = this.#cachedNames.get(from);
    this.#change([dirname(to)], (names) => {
      if (file !== undefined) names.set(to, file);
    });
  }

  #change(folders: readonly string[], apply: NameChange["apply"]): void {
    apply(this.#cachedNames);
    this.#pendingNames.push({ folders, apply });
  }

  #sync({ inode, path }: DiskEvent): void {
    if (path === this.#root || this.#cachedNames.get(path) === "folder") {
      const isHere = ({ folders }: NameChange) => folders.includes(path);
      const changes = this.#pendingNames.filter(isHere);
      for (const change of changes) change.apply(this.#durableNames); // M3
      this.#pendingNames = this.#pendingNames.filter((change) => !isHere(change));
      return;
    }
    const file = this.#byInode.get(inode);
    if (file === undefined) return;
    file.durable = withPages(file, file.dirty, file.cached.length); // M1
    file.dirty.clear();
  }
}

function newFile(): ModelFile {
  const nothing = Buffer.alloc(0);
  return { cached: nothing, durable: nothing, dirty: new Set(), doubtful: new Map() };
}

function write(file: ModelFile, offset: number, bytes: Buffer): void {
  const size = Math.max(file.cached.length, offset + bytes.length);
  if (size > file.cached.length)
    file.cached = Buffer.concat([file.cached, Buffer.alloc(size - file.cached.length)]);
  bytes.copy(file.cached, offset);
  addPages(file.dirty, offset, offset + bytes.length);
}

function truncate(file: ModelFile, size: number): void {
  const grown = Buffer.alloc(size);
  file.cached.copy(grown, 0, 0, Math.min(size, file.cached.length));
  addPages(file.dirty, Math.max(0, size - 1), Math.max(size, file.cached.length));
  file.cached = grown;
  for (const page of file.doubtful.keys()) {
    if (page * PAGE >= size) file.doubtful.set(page, Buffer.alloc(0)); // M5
  }
}

function addPages(pages: Set<number>, from: number, end: number): void {
  for (let page = Math.floor(from / PAGE); page * PAGE < end; page += 1) pages.add(page);
}

function failSync(file: ModelFile): void {
  for (const page of file.dirty) {
    if (!file.doubtful.has(page)) file.doubtful.set(page, pageOf(file.durable, page)); // M2
  }
  file.dirty.clear();
}

/** A copy; shorter than a page at the end of the file. */
function pageOf(bytes: Buffer, page: number): Buffer {
  return Buffer.from(bytes.subarray(page * PAGE, (page + 1) * PAGE));
}

/** The durable bytes with some pages of the cache written over them. */
function withPages(file: ModelFile, pages: Iterable<number>, size: number): Buffer {
  const result = Buffer.alloc(size);
  file.durable.copy(result, 0, 0, Math.min(size, file.durable.length));
  for (const page of pages) {
    const end = Math.min((page + 1) * PAGE, size, file.cached.length);
    if (page * PAGE < end) file.cached.copy(result, page * PAGE, page * PAGE, end);
  }
  return result;
}

/** Restores what a page had before, from `from` bytes into the page. */
function restore(result: Buffer, page: number, before: Buffer, from = 0): void {
  const at = page * PAGE;
  if (at + from >= result.length) return;
  result.fill(0, at + from, Math.min(at + PAGE, result.length));
  if (from < before.length) before.copy(result, at + from, from);
}

function survivor(file: ModelFile, policy: CutPolicy, random: () => number): Buffer {
  const half = () => random() < 0.5;
  const isDropped = policy === "dropped";
  const unsure = [...new Set([...file.dirty, ...file.doubtful.keys()])];
  const pages = isDropped ? [] : unsure.filter(half);
  const reach = Math.max(0, ...pages.map((page) => (page + 1) * PAGE));
  const size = isDropped
    ? file.durable.length
    : Math.min(file.cached.length, Math.max(file.durable.length, reach));
  const result = withPages(file, pages, size);
  for (const [page, before] of file.doubtful) {
    if (isDropped || half()) restore(result, page, before); // M2
  }
  if (policy !== "torn") return result;
  for (const page of pages) {
    const before = file.doubtful.get(page) ?? pageOf(file.durable, page);
    const cut = SECTOR * Math.floor(random() * (PAGE / SECTOR));
    if (half()) restore(result, page, before, cut); // M1: torn
  }
  return result;
}
