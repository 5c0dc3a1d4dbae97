// Sim bucket: objects, their versions, and the notifications that S3 sends about them.
//   B1. Each change has a higher sequencer than the one before.
//   B2. A late reader can no longer read an unversioned object that was overwritten or deleted.

import { formatInstant } from "../../core/encoding/rfc3339.ts";
import { eventKey } from "../../core/events/object-identity.ts";
import { type EpochMs, epochMs } from "../../core/units.ts";
import type { ListedObject, ObjectLister } from "../../ports/objects/object-lister.ts";
import type { ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import type { ByteSource } from "../../ports/rows.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

export const BUCKET = "landing";
/** The size that notifications report, and listings and reads of objects without rows. */
const SIZE = 1;
const PAGE_MAX = 7;
const ETAG_MARK = "etag-";
const OTHER_ETAG = `${ETAG_MARK}other`;

interface Version {
  readonly value: string;
  readonly size: number;
  readonly etag: string;
  readonly versionId: string | null;
  readonly modifiedAt: number;
}

/** S3's notification of one change. */
export interface BucketNotification {
  /** One entry of a notification's `Records`. */
  readonly record: object;
  /** The event key: the identity of the record in the pipeline. */
  readonly identity: string;
  readonly sequencer: string;
}

export class SimBucket {
  readonly #versioned: boolean;
  readonly #current = new Map<string, Version>();
  readonly #versions = new Map<string, Version>();
  #changes = 0;

  constructor(versioned: boolean) {
    this.#versioned = versioned;
  }

  /** Changes an object and returns S3's notification of the change. */
  change(
    name: string,
    key: string,
    change: "put" | "removed",
    now: number,
    text: string | null = null,
  ): BucketNotification {
    this.#changes += 1;
    const sequencer = (0x1000_0000 + this.#changes).toString(16).toUpperCase(); // B1
    const value = text ?? `${key}@${name}`;
    const etag = `${ETAG_MARK}${name}`;
    const versionId = this.#versioned ? `v${this.#changes}` : null;
    if (change === "removed") this.#current.delete(key);
    else {
      const size = text === null ? SIZE : new TextEncoder().encode(text).byteLength;
      const version = { value, size, etag, versionId, modifiedAt: now };
      this.#current.set(key, version);
      if (versionId !== null) this.#versions.set(`${key} ${versionId}`, version);
    }
    const details = { name, key, change, now, sequencer, etag, versionId };
    return { record: recordOf(details), sequencer, identity: identityOf(details) };
  }

  /** Overwrites the object without a notification. B2 */
  overwrite(key: string, now: number): void {
    const current = this.#current.get(key);
    if (current === undefined) return;
    const other = { etag: OTHER_ETAG, versionId: null, modifiedAt: now };
    this.#current.set(key, { ...current, ...other });
  }

  /** The current objects, in the order of their keys. */
  list(): ListedObject[] {
    const rows = [...this.#current].sort(([one], [two]) => (one < two ? -1 : 1));
    return rows.map(([key, { etag, size, versionId, modifiedAt }]) => {
      const lastModified = epochMs(modifiedAt);
      return { key, versionId, etag, size, lastModified, isLatest: true };
    });
  }

  /** The change that put this very state of the object; null if no notification reports it. */
  nameOf({ etag }: Pick<ListedObject, "etag">): string | null {
    return etag === OTHER_ETAG ? null : etag.slice(ETAG_MARK.length);
  }

  /** Deletes the object and all its versions without a notification. B2 */
  destroy(key: string): void {
    this.#current.delete(key);
    for (const name of this.#versions.keys()) {
      if (name.startsWith(`${key} `)) this.#versions.delete(name);
    }
  }

  open(key: string, versionId: string | null, etag: string | null): OpenedObject {
    const version =
      versionId === null ? this.#current.get(key) : this.#versions.get(`${key} ${versionId}`);
    if (version === undefined) return { kind: "missing" };
    if (etag !== null && version.etag !== etag) return { kind: "replaced" };
    return {
      kind: "opened",
      bytes: bytesOf(version),
      etag: version.etag,
      versionId: version.versionId,
      lastModified: null,
      metadata: {},
      tags: async () => ({}),
    };
  }
}

/** The bucket as one process accesses it, over the faulty network. */
export function createSimObjects(
  ports: SimPorts,
  process: SimProcess,
  bucket: SimBucket,
  service: Service,
): ObjectSource {
  const call = createCaller(ports, process, service, "TG_OBJECTS_UNAVAILABLE");
  return {
    open: ({ key, versionId, etag }) => call("open", async () => bucket.open(key, versionId, etag)),
  };
}

/** The bucket's listing, in small pages, over the faulty network. */
export function createSimLister(
  ports: SimPorts,
  process: SimProcess,
  bucket: SimBucket,
  service: Service,
): ObjectLister {
  const call = createCaller(ports, process, service, "TG_OBJECTS_UNAVAILABLE");
  return {
    list: ({ prefix, after }) =>
      call("list", async () => {
        const all = bucket
          .list()
          .filter(({ key }) => key.startsWith(prefix) && (after === null || key > after));
        const objects = all.slice(0, PAGE_MAX);
        return { objects, next: all.length > PAGE_MAX ? (objects.at(-1)?.key ?? null) : null };
      }),
  };
}

interface Change {
  readonly name: string;
  readonly key: string;
  readonly change: "put" | "removed";
  readonly now: number;
  readonly sequencer: string;
  readonly etag: string;
  readonly versionId: string | null;
}

function recordOf({ name, key, change, now, sequencer, etag, versionId }: Change) {
  const put = change === "put";
  return {
    eventVersion: "2.1",
    eventSource: "aws:s3",
    awsRegion: "us-east-1",
    eventTime: formatInstant(epochMs(now) as EpochMs),
    eventName: put ? "ObjectCreated:Put" : "ObjectRemoved:Delete",
    responseElements: { "x-amz-request-id": name },
    s3: {
      bucket: { name: BUCKET },
      object: {
        key,
        sequencer,
        ...(put && { size: SIZE, eTag: etag }),
        ...(versionId && { versionId }),
      },
    },
  };
}

/** The event key that the decoder will derive, computed here to avoid decoding twice. */
function identityOf({ name, key, change, now, sequencer, etag, versionId }: Change): string {
  const put = change === "put";
  return eventKey({
    kind: put ? "created" : "removed",
    event_name: put ? "ObjectCreated:Put" : "ObjectRemoved:Delete",
    bucket: BUCKET,
    key,
    version_id: versionId,
    etag: put ? etag : null,
    size: put ? SIZE : null,
    sequencer,
    request_id: name,
    event_time: formatInstant(epochMs(now)),
  });
}

/** A listing and a read agree on the size: a backfill compares the two. */
function bytesOf({ value, size }: Version): ByteSource {
  const bytes = new TextEncoder().encode(value);
  return {
    size,
    async *stream() {
      yield bytes;
    },
    range: async (start, end) => bytes.slice(start, end),
  };
}
