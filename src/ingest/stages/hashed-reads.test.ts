import { expect, test } from "vitest";
import {
  createStageWorld,
  type Delivered,
  memoryObjects,
  RUN_ID,
  type StageWorld,
} from "../../../test/support/stage-world.ts";
import { ANY_INPUT } from "../../../test/support/stores/any-input.ts";
import type { Checksum } from "../../core/encoding/checksum.ts";
import { sha256Hex } from "../../core/encoding/hash.ts";
import type { OpenedObject } from "../../ports/objects/object-source.ts";
import { createHandleStage } from "./handle.ts";

const PARTS = ["id\n", "", "1\n", "2\n"];
const BODY = PARTS.join("");
const WHOLE = { hash: `sha256:${sha256Hex(BODY)}`, noHash: null };
const CRC: Checksum = { algorithm: "CRC32", value: "AQIDBA==", type: "FULL_OBJECT" };

/** An object in several chunks, whose size may be unknown. */
function opened(more: { size?: number | null; checksum?: Checksum; parts?: string[] } = {}) {
  const { size = BODY.length, checksum = null, parts = PARTS } = more;
  async function* stream() {
    for (const part of parts) yield new TextEncoder().encode(part);
  }
  const bytes = { size, stream, range: async () => new TextEncoder().encode("id") };
  const facts = { etag: "e", versionId: null, lastModified: null, metadata: {}, checksum };
  return { kind: "opened", bytes, ...facts, tags: async () => ({}) } as OpenedObject;
}

const DELIVER_OBJECT = (world: StageWorld): Delivered => world.object("a.csv");

type Reads = (file: { bytes(): AsyncIterable<Uint8Array>; text(): Promise<string> }) => unknown;

/** The hash of the input after the handler has read as `reads` does. */
async function hashAfter(
  reads: Reads,
  object: OpenedObject | string,
  deliver: (world: StageWorld) => Delivered = DELIVER_OBJECT,
  more: object = {},
) {
  const isObject = deliver === DELIVER_OBJECT;
  const spec = { handler: reads as never, ...more };
  await using world = createStageWorld({ ...(isObject && { bucket: "in" }), spec });
  const ports = { ...world, objects: memoryObjects({ "a.csv": object }), rows: null };
  const stage = createHandleStage(ports, { pipeline: world.pipeline, runId: RUN_ID });
  const claim = {
    kind: "claimed",
    fence: null,
    attempt: 1,
    startedAt: world.clock.now(),
    input: ANY_INPUT,
  } as const;
  const { record, inFlight } = deliver(world);
  const handled = await stage.handle(record, claim, { lane: "live", watermark: null }, inFlight);
  return handled.kind === "handled" ? { ...handled.input, body: inFlight.delivery.body } : handled;
}

async function readSome(file: Parameters<Reads>[0]): Promise<void> {
  for await (const _ of file.bytes()) break;
}

test.each([
  ["of one chunk", opened({ parts: [BODY] })],
  ["of several chunks", opened()],
  ["of unknown size", opened({ size: null })],
])("an object %s that is read to its end has the SHA-256 of its bytes", async (_, object) => {
  expect(await hashAfter((file) => file.text(), object)).toMatchObject(WHOLE);
});

test("an empty object has the SHA-256 of nothing", async () => {
  const hash = `sha256:${sha256Hex("")}`;
  expect(await hashAfter((file) => file.text(), "")).toMatchObject({ hash });
});

test("a handler that changes the bytes it gets does not change their hash (H2)", async () => {
  const spoil: Reads = async (file) => {
    for await (const chunk of file.bytes()) chunk.fill(0);
  };
  expect(await hashAfter(spoil, opened())).toMatchObject(WHOLE);
  expect(await hashAfter(spoil, opened({ parts: [BODY] }))).toMatchObject(WHOLE);
});

test("an object that is read in part has the service's checksum, or a reason (H1)", async () => {
  expect(await hashAfter(readSome, opened())).toMatchObject({ hash: null, noHash: "read-in-part" });
  const summed = opened({ checksum: CRC });
  expect(await hashAfter(readSome, summed)).toMatchObject({ hash: "crc32:01020304" });
  const composite = opened({ checksum: { ...CRC, type: "COMPOSITE" } });
  expect(await hashAfter(readSome, composite)).toMatchObject({ noHash: "read-in-part" });
  expect(await hashAfter((file) => file.text(), summed)).toMatchObject(WHOLE);
});

test("a second read does not undo the hash of a complete one", async () => {
  const twice: Reads = async (file) => {
    await file.text();
    await readSome(file);
  };
  expect(await hashAfter(twice, opened())).toMatchObject(WHOLE);
});

test("an object that the handler does not read has no hash", async () => {
  expect(await hashAfter(() => undefined, opened())).toMatchObject({ noHash: "not-read" });
});

test("a message has the SHA-256 of its body, unless a value of it is masked (H3)", async () => {
  const message = (world: StageWorld) => world.message("a", { pin: "1234" });
  const plain = await hashAfter(() => undefined, "", message);
  if (!("body" in plain)) throw new Error("not handled");
  expect(plain.hash).toBe(`sha256:${sha256Hex(plain.body)}`);
  const masked = await hashAfter(() => undefined, "", message, { mask: ["payload.pin"] });
  expect(masked).toMatchObject({ hash: null, noHash: "masked" });
  const govern = () => "mask";
  const governed = { govern, mask: ["payload.absent"] };
  expect(await hashAfter(() => undefined, "", message, governed)).toMatchObject({
    noHash: "masked",
  });
});
