// Sound part: the resources of a setup that have no problem so far. Later checks run on them, so
// that one run reports all problems of a file, whatever their kind.
//   P1. Problems of the part have paths of the whole setup.
//   P2. A resource that refers to one outside the part, or to one that was refused, is not
//       rehearsed: it would be refused for a problem that is reported already.

import type { JsonValue } from "../../core/encoding/canonical-json.ts";
import { asObject, type Problem } from "../../core/events/problem.ts";
import type { CloudSetup } from "./cloud-setup.ts";

const KINDS = ["queues", "topics", "subscriptions", "buckets"] as const;
type Kind = (typeof KINDS)[number];

interface Placed {
  readonly index: number;
  readonly resource: JsonValue;
}

export interface SoundPart {
  readonly setup: CloudSetup;
  /** The path in the whole setup of a path in this part (P1). */
  wholePath(path: string): string;
}

/** The resources of `value` to which no problem refers. */
export function soundPart(value: JsonValue, problems: readonly Problem[]): SoundPart {
  return partOf((kind) => placedIn(value, kind, problems));
}

/** The sound part without resources that refer to others outside it (P2). */
export function rehearsablePart(value: JsonValue, problems: readonly Problem[]): SoundPart {
  const placed = new Map(KINDS.map((kind) => [kind, placedIn(value, kind, problems)]));
  for (let before = -1, count = countOf(placed); count !== before; ) {
    const { setup } = partOf((kind) => placed.get(kind) ?? []);
    const names = namesOf(setup);
    for (const [kind, list] of placed) {
      placed.set(
        kind,
        list.filter(({ resource }) => references(resource).every((name) => names.has(name))),
      );
    }
    before = count;
    count = countOf(placed);
  }
  return partOf((kind) => placed.get(kind) ?? []);
}

/** Resources that a rehearsal refused, by their paths in `setup` (P2). */
export class RefusedResources {
  readonly #setup: CloudSetup;
  readonly #refused = new Set<string>();

  constructor(setup: CloudSetup) {
    this.#setup = setup;
  }

  add(path: string): void {
    const { location, kind, resource } = this.#find(path);
    this.#refused.add(location);
    const { name } = asObject(resource) ?? {};
    if (typeof name === "string") this.#refused.add(`${kind.slice(0, -1)} ${name}`);
  }

  /** Whether the resource at `path` was refused, or refers to one that was. */
  affects(path: string): boolean {
    const { location, resource } = this.#find(path);
    return [location, ...references(resource)].some((each) => this.#refused.has(each));
  }

  #find(path: string) {
    const [, kind = "", at = ""] = path.split("/");
    const lists = this.#setup as unknown as Readonly<Record<string, readonly JsonValue[]>>;
    return { location: `${kind}/${at}`, kind, resource: lists[kind]?.[Number(at)] ?? null };
  }
}

function countOf(placed: ReadonlyMap<Kind, readonly Placed[]>): number {
  return [...placed.values()].reduce((sum, { length }) => sum + length, 0);
}

function placedIn(value: JsonValue, kind: Kind, problems: readonly Problem[]): Placed[] {
  const list = asObject(value)?.[kind];
  if (!Array.isArray(list)) return [];
  const bad = new Set(problems.map(({ path }) => path.split("/").slice(1, 3).join("/")));
  if (bad.has(kind)) return []; // The list itself has a problem.
  return list
    .map((resource, index) => ({ index, resource: resource as JsonValue }))
    .filter(({ index }) => !bad.has(`${kind}/${index}`));
}

function partOf(placedOf: (kind: Kind) => readonly Placed[]): SoundPart {
  const placed = new Map(KINDS.map((kind) => [kind as string, placedOf(kind)]));
  const lists = [...placed].map(([kind, list]) => [kind, list.map(({ resource }) => resource)]);
  return {
    setup: Object.fromEntries(lists) as CloudSetup,
    wholePath(path) {
      const [, kind = "", at = "", ...rest] = path.split("/");
      const index = placed.get(kind)?.[Number(at)]?.index;
      return index === undefined ? path : ["", kind, index, ...rest].join("/");
    },
  };
}

/** Queues and topics, each with its kind. */
function namesOf({ queues = [], topics = [] }: CloudSetup): ReadonlySet<string> {
  return new Set([
    ...queues.map(({ name }) => `queue ${name}`),
    ...topics.map(({ name }) => `topic ${name}`),
  ]);
}

/** The queues and topics that a resource refers to, at any depth. */
function references(resource: JsonValue): string[] {
  const object = asObject(resource) ?? {};
  const own = (["queue", "topic"] as const).flatMap((field) =>
    typeof object[field] === "string" ? [`${field} ${object[field]}`] : [],
  );
  const { deadLetter, notifications } = object;
  const inner = [deadLetter, ...(Array.isArray(notifications) ? notifications : [])];
  return [...own, ...inner.flatMap((each) => (each === undefined ? [] : references(each)))];
}
