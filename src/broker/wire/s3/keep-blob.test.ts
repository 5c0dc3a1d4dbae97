import { expect, test } from "vitest";
import type { Result } from "../../../core/result.ts";
import type { StagedBlob } from "../../../ports/broker/blob-store.ts";
import type { S3Fault } from "../../model/s3/s3-fault.ts";
import { keepBlob } from "./keep-blob.ts";
import type { S3Call } from "./s3-call.ts";

/** A blob and a call that record what happens to the blob. */
function createRecorder() {
  const events: string[] = [];
  const later = async (event: string) => {
    await Promise.resolve();
    events.push(event);
  };
  const blob: StagedBlob = {
    id: "blob",
    sizeBytes: 1,
    publish: () => later("published"),
    discard: () => later("discarded"),
    keep: () => void events.push("kept"),
  };
  const remove = (ids: readonly string[]) => void events.push(`removed ${ids.join(" ")}`);
  const call = { s3: { blobs: { remove } } } as unknown as S3Call;
  return { events, blob, call };
}

const KEPT: Result<{ dropped: string[] }, S3Fault> = { ok: true, value: { dropped: ["old"] } };
const REFUSED: Result<{ dropped: string[] }, S3Fault> = {
  ok: false,
  fault: { code: "NoSuchBucket", message: "none" },
};

test("bytes are durable before the commit, and replaced blobs are removed after it (K1, K3)", async () => {
  const { events, blob, call } = createRecorder();
  await keepBlob(call, blob, async () => {
    events.push("committed");
    return KEPT;
  });
  expect(events).toEqual(["published", "committed", "kept", "removed old"]);
});

test("the blob of a refused commit is discarded (K2)", async () => {
  const { events, blob, call } = createRecorder();
  await keepBlob(call, blob, async () => REFUSED);
  expect(events).toEqual(["published", "discarded"]);
});

test("the blob of a failed commit stays for the sweep at the next start (K2)", async () => {
  const { events, blob, call } = createRecorder();
  const failing = keepBlob(call, blob, () => Promise.reject(new Error("the disk is full")));
  await expect(failing).rejects.toThrow("the disk is full");
  expect(events).toEqual(["published"]);
});

test("a blob that cannot be made durable is discarded, and no commit happens", async () => {
  const { events, blob, call } = createRecorder();
  const broken = { ...blob, publish: () => Promise.reject(new Error("no space")) };
  const failing = keepBlob(call, broken, async () => {
    events.push("committed");
    return KEPT;
  });
  await expect(failing).rejects.toThrow("no space");
  expect(events).toEqual(["discarded"]);
});
