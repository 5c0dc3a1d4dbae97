// Disk model: replays a recorded trace and builds the folders that a power cut could leave behind.
//   M1. A page is durable after a successful sync of its file. Until then a power cut may keep it,
//       drop it, or tear it between two sectors.
//   M2. A failed sync marks dirty pages clean without writing them. A later write to such a page
//       makes it dirty again, with everything the cache holds of it.
//   M3. A name (create, rename, unlink, mkdir) is durable after a sync of its folder. Until then a
//       power cut keeps the operations up to some point, in order.

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const PAGE = 4_096;
const SECTOR = 512;

export interface DiskEvent {
  readonly kind: "C" | "W" | "T" | "S" | "F" | "R" | "U" | "M";
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
    const length = kind === "W" ? Number(b) : 0;
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
        this.#write(this.#file(event.inode), event.offset, event.bytes);
        return;
      case "T":
        this.#truncate(this.#file(event.inode), event.offset);
        return;
      case "S":
        this.#sync(event);
        return;
      case "F":
        this.#byInode.get(event.inode)?.dirty.clear(); // M2
        return;
      case "R":
        this.#rename(event.path);
        return;
      default:
        this.#change([dirname(event.path)], (names) => void names.delete(event.path));
    }
  }

  /** Writes what a power cut now leaves on disk below `target`. `random` gives numbers below 1. */
  cut(target: string, policy: CutPolicy, random: () => number): void {
    const names = new Map(this.#durableNames);
    const survivors =
      policy === "dropped" ? 0 : Math.floor(random() * (this.#pendingNames.length + 1));
    for (const change of this.#pendingNames.slice(0, survivors)) change.apply(names); // M3
    const folders = new Set([this.#root]);
    for (const [path, file] of [...names].sort(([a], [b]) => a.length - b.length)) {
      if (!folders.has(dirname(path))) continue; // Its folder did not survive.
      const copy = join(target, relative(this.#root, path));
      if (file === "folder") {
        folders.add(path);
        mkdirSync(copy, { recursive: true });
      } else writeFileSync(copy, survivor(file, policy, random));
    }
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

  #change(folders: readonly string[], apply: NameChange["apply"]): void {
    apply(this.#cachedNames);
    this.#pendingNames.push({ folders, apply });
  }

  #write(file: ModelFile, offset: number, bytes: Buffer): void {
    const size = Math.max(file.cached.length, offset + bytes.length);
    if (size > file.cached.length)
      file.cached = Buffer.concat([file.cached, Buffer.alloc(size - file.cached.length)]);
    bytes.copy(file.cached, offset);
    const last = Math.floor((offset + bytes.length - 1) / PAGE);
    for (let page = Math.floor(offset / PAGE); page <= last; page += 1) file.dirty.add(page);
  }

  #truncate(file: ModelFile, size: number): void {
    const grown = Buffer.alloc(size);
    file.cached.copy(grown, 0, 0, Math.min(size, file.cached.length));
    file.cached = grown;
    file.dirty.add(Math.floor(Math.max(0, size - 1) / PAGE));
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
  return { cached: Buffer.alloc(0), durable: Buffer.alloc(0), dirty: new Set() };
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

function survivor(file: ModelFile, policy: CutPolicy, random: () => number): Buffer {
  if (policy === "dropped") return file.durable;
  const pages = [...file.dirty].filter(() => random() < 0.5);
  const reach = Math.max(0, ...pages.map((page) => (page + 1) * PAGE));
  const size = Math.min(file.cached.length, Math.max(file.durable.length, reach));
  const result = withPages(file, pages, size);
  if (policy === "subset") return result;
  for (const page of pages) {
    if (random() < 0.5) continue;
    const cut = page * PAGE + SECTOR * Math.floor(random() * (PAGE / SECTOR));
    const end = Math.min((page + 1) * PAGE, result.length, file.durable.length);
    if (cut < end) file.durable.copy(result, cut, cut, end); // M1: torn
  }
  return result;
}
