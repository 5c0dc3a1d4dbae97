import { expect, test } from "vitest";
import { keep, textOf } from "../../../../../test/contracts/blob-store.ts";
import { succeed } from "../../../../core/result.ts";
import { epochMs } from "../../../../core/units.ts";
import type { BlobStore } from "../../../../ports/broker/blob-store.ts";
import { createMemoryBlobStore } from "../../../../stores/memory/blob-store.ts";
import type { S3Call } from "../s3-call.ts";
import { copyObject } from "./copy-object.ts";
import { uploadPartCopy } from "./upload-part-copy.ts";

const TEXT = "the bytes of the source";
const UPLOAD = { checksumAlgorithm: "CRC32" };

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A call that copies an object, on a broker that overwrites the source right after the lookup. */
async function createRace(stageFails = false) {
  const store = createMemoryBlobStore();
  const { blob, sizeBytes } = await keep(store, TEXT);
  let released = 0;
  const blobs: BlobStore = {
    ...store,
    read(pieces, range) {
      const reading = store.read(pieces, range)[Symbol.asyncIterator]();
      const release = async () => {
        released += 1;
        return { done: true as const, value: undefined };
      };
      return { [Symbol.asyncIterator]: () => ({ next: () => reading.next(), return: release }) };
    },
    async stage(chunks) {
      await turn();
      if (stageFails) throw new Error("no space");
      return store.stage(chunks);
    },
  };
  const stored: string[] = [];
  const answers: Record<string, (input: unknown) => unknown> = {
    findBucket: () => ({ bucket: {} }),
    findUpload: () => ({ upload: { detail: JSON.stringify(UPLOAD) } }),
    findObject: () => {
      store.remove([blob]);
      const detail = JSON.stringify({ headers: {}, metadata: {}, tags: {}, checksum: null });
      const object = { pieces: [{ blob, sizeBytes }], sizeBytes, detail, etag: "e", modifiedAt: 0 };
      return { object, version: null };
    },
    putObject: (input) => storeBlob((input as { pieces: { blob: string }[] }).pieces[0]?.blob),
    putPart: (input) => storeBlob((input as { piece: { blob: string } }).piece.blob),
  };
  function storeBlob(blobId: string | undefined) {
    stored.push(blobId ?? "");
    return { dropped: [], version: null, modifiedAt: epochMs(0) };
  }
  const submit = async (name: string, input: unknown) => {
    await turn();
    return succeed(answers[name]?.(input));
  };
  const call = {
    server: { broker: { submit } },
    s3: { blobs, now: () => epochMs(0) },
    request: { headers: { "x-amz-copy-source": "source/key" } },
    bucket: "target",
    key: "copy",
    query: new URLSearchParams("partNumber=1&uploadId=u"),
    origin: {},
  } as unknown as S3Call;
  const copied = () =>
    textOf(store.read([{ blob: stored[0] ?? "", sizeBytes }], { from: 0, through: sizeBytes - 1 }));
  return { call, copied, released: () => released };
}

test.each([copyObject, uploadPartCopy])(
  "$name copies the bytes it found, even if the source is overwritten immediately (S2)",
  async (action) => {
    const { call, copied } = await createRace();
    expect((await action.run(call)).status).toBe(200);
    expect(await copied()).toBe(TEXT);
  },
);

test("a copy that cannot be written releases its source", async () => {
  const { call, released } = await createRace(true);
  await expect(copyObject.run(call)).rejects.toThrow("no space");
  expect(released()).toBe(1);
});
