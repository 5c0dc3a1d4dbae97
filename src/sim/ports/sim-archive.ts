// Sim archive: the bucket in which a pipeline keeps its messages, as a separate service. Every
// write and every read is a faulty call: it may fail, lose its answer, or end with a crash.
//   V1. The history has a message from the moment at which the bucket has it.

import { decodeArchived } from "../../core/events/archived-message.ts";
import type { MessageArchive } from "../../ports/message-archive.ts";
import type { ObjectPin, ObjectSource, OpenedObject } from "../../ports/objects/object-source.ts";
import {
  createMemoryObjectWriter,
  type MemoryObjectWriter,
} from "../../stores/memory/object-writer.ts";
import { hiddenValuesIn } from "../hidden-value.ts";
import type { History } from "../history.ts";
import type { SimProcess } from "../hosts/process.ts";
import type { RecordNames } from "../record-names.ts";
import type { WorldParts } from "../world-parts.ts";
import type { Service } from "./network.ts";
import { createCaller, type SimPorts } from "./sim-ports.ts";

export const ARCHIVE_BUCKET = "archive";

/** The bucket of a world. */
export class SimArchive {
  readonly writer: MemoryObjectWriter;
  /** The process whose call is being carried out. */
  actor = "";

  constructor(history: History, names: RecordNames) {
    this.writer = createMemoryObjectWriter(({ bucket, key, bytes }) => {
      const text = new TextDecoder().decode(bytes);
      for (const value of hiddenValuesIn(text)) {
        history.add(this.actor, { kind: "exposed", ...value, where: "the archive" });
      }
      const message = decodeArchived(bytes, key);
      const stored = typeof message === "string" ? { body: "", masked: false } : message;
      const [name = ""] = names.ofBody(stored.body);
      const object = `s3://${bucket}/${key}`;
      history.add(this.actor, { kind: "archived", name, object, masked: stored.masked }); // V1
    });
  }

  open({ bucket, key }: ObjectPin): OpenedObject {
    const object = this.writer.read(bucket, key);
    if (object === undefined) return { kind: "missing" };
    const { bytes, etag } = object;
    return {
      kind: "opened",
      bytes: {
        size: bytes.byteLength,
        async *stream() {
          yield bytes;
        },
        range: async (start, end) => bytes.slice(start, end),
      },
      etag,
      versionId: null,
      lastModified: null,
      metadata: {},
      tags: async () => ({}),
    };
  }
}

/** The archive as a consumer writes to it, over the faulty network. */
export function createSimArchive(
  ports: SimPorts,
  process: SimProcess,
  world: {
    readonly archive: SimArchive;
    readonly service: Service;
    readonly create: WorldParts["createMessageArchive"];
    readonly prefix: string;
  },
): MessageArchive {
  const { archive, service, create, prefix } = world;
  const call = createCaller(ports, process, service, "TG_SINK_UNAVAILABLE");
  const { writer } = archive;
  return create(
    {
      look: (...location) => call("look", () => writer.look(...location)),
      write: (...object) =>
        call("write", () => {
          archive.actor = process.name;
          return writer.write(...object);
        }),
    },
    { bucket: ARCHIVE_BUCKET, prefix },
  );
}

/** The archive as a replay reads it, over the faulty network. */
export function createSimArchiveReader(
  ports: SimPorts,
  process: SimProcess,
  archive: SimArchive,
  service: Service,
): ObjectSource {
  const call = createCaller(ports, process, service, "TG_OBJECTS_UNAVAILABLE");
  return { open: (pin) => call("open", async () => archive.open(pin)) };
}
