import { expect, test } from "vitest";
import { keep, textOf } from "../../../../../test/contracts/blob-store.ts";
import { succeed } from "../../../../core/result.ts";
import { epochMs } from "../../../../core/units.ts";
import type { BlobStore } from "../../../../ports/blob-store.ts";
import { createMemoryBlobStore } from "../../../../stores/memory/blob-store.ts";
import type { S3Call } from "../s3-call.ts";
import { copyObject } from "./copy-object.ts";
import { uploadPartCopy } from "./upload-part-copy.ts";

const TEXT = "the bytes of the source";
const UPLOAD = { checksumAlgorithm: "CRC32" };

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A broker that overwrites the source as soon as it has told of it, and a call that copies it. */
async function createRace(stageFails = false) {
  const store = createMemoryBlobStore();
  const { blob, sizeBytes } = await keep(store, TEXT);
  let left = 0;
  const blobs: BlobStore = {
    ...store,
    read(pieces, range) {
      const reading = store.read(pieces, range)[Symbol.asyncIterator]();
      const leave = async () => {
        left += 1;
        return { done: true as const, value: undefined };
      };
      return { [Symbol.asyncIterator]: () => ({ next: () => reading.next(), return: leave }) };
    },
    async stage(chunks) {
      await turn();
      if (stageFails) throw new Error("no space");
      return store.stage(chunks);
    },
  };
  const kept: string[] = [];
  const answers: Record<string, (input: unknown) => unknown> = {
    findBucket: () => ({ bucket: {} }),
    findUpload: () => ({ upload: { detail: JSON.stringify(UPLOAD) } }),
    findObject: () => {
      store.remove([blob]);
      const detail = JSON.stringify({ headers: {}, metadata: {}, tags: {}, checksum: null });
      const object = { pieces: [{ blob, sizeBytes }], sizeBytes, detail, etag: "e", modifiedAt: 0 };
      return { object, version: null };
    },
    putObject: (input) => keepIt((input as { pieces: { blob: string }[] }).pieces[0]?.blob),
    putPart: (input) => keepIt((input as { piece: { blob: string } }).piece.blob),
  };
  function keepIt(made: string | undefined) {
    kept.push(made ?? "");
    return { dropped: [], version: null, modifiedAt: epochMs(0) };
  }
  const submit = async (name: string, input: unknown) => {
    await turn();
    return succeed(answers[name]?.(input));
  };
  const call = {
    site: { broker: { submit } },
    s3: { blobs, now: () => epochMs(0) },
    request: { headers: { "x-amz-copy-source": "source/key" } },
    bucket: "target",
    key: "copy",
    query: new URLSearchParams("partNumber=1&uploadId=u"),
    origin: {},
  } as unknown as S3Call;
  const copied = () =>
    textOf(store.read([{ blob: kept[0] ?? "", sizeBytes }], { from: 0, through: sizeBytes - 1 }));
  return { call, copied, left: () => left };
}

test.each([copyObject, uploadPartCopy])(
  "$name takes the bytes it has found, though the source is overwritten at once (S2)",
  async (action) => {
    const { call, copied } = await createRace();
    expect((await action.run(call)).status).toBe(200);
    expect(await copied()).toBe(TEXT);
  },
);

test("a copy that cannot be written lets go of its source", async () => {
  const { call, left } = await createRace(true);
  await expect(copyObject.run(call)).rejects.toThrow("no space");
  expect(left()).toBe(1);
});
