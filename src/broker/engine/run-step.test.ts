import { beforeEach, expect, test } from "vitest";
import { EngineBench } from "../../../test/support/broker/engine-bench.ts";
import { arn, entry } from "../../../test/support/broker/model-bench.ts";
import { TidegateError } from "../../core/errors.ts";
import type { BrokerStore } from "../../ports/broker/broker-store.ts";
import { createMemoryBrokerStore } from "../../stores/memory/broker-store.ts";
import type { Origin } from "../model/s3/s3-operations.ts";

const ORIGIN: Origin = {
  requestId: "r",
  hostId: "h",
  sourceIp: "127.0.0.1",
  url: "http://localhost",
  principalId: "p",
  ownerId: "o",
  eventVersion: "2.6",
  eventBridgeQueue: null,
  traceHeader: null,
};
const CREATED = "s3:ObjectCreated:*";
const UNCONDITIONAL = { ifMatch: null, ifAbsent: false };
const DETAIL = JSON.stringify({ headers: {}, metadata: {}, tags: {}, checksum: null });
const UPLOAD_DETAIL = JSON.stringify({
  ...JSON.parse(DETAIL),
  checksumAlgorithm: "CRC32",
  checksumType: "FULL_OBJECT",
});
const BUCKET = { bucket: "bucket" };
const SOUND = { ...BUCKET, key: "sound" };
const DAMAGED = { ...BUCKET, key: "damaged" };

let bench: EngineBench;
let blobs = 0;

/** A bucket of two objects, one of which the disk has damaged. */
beforeEach(async () => {
  const inner = createMemoryBrokerStore();
  let fades = false;
  const check = <T>(key: string, read: T): T => {
    if (!fades || key !== DAMAGED.key) return read;
    throw new TidegateError("TG_STORE_CORRUPT", "an object is damaged");
  };
  const { objects } = inner;
  const store: BrokerStore = {
    objects: {
      newest: (bucket, key, before) => check(key, objects.newest(bucket, key, before)),
      version: (bucket, key, id) => check(key, objects.version(bucket, key, id)),
      entries: (bucket, from) => objects.entries(bucket, from),
      upload: (bucket, key, id) => objects.upload(bucket, key, id),
      uploads: (bucket, from) => objects.uploads(bucket, from),
      part: (id, number) => objects.part(id, number),
      parts: (id, after) => objects.parts(id, after),
      hasBlob: (blob) => objects.hasBlob(blob),
    },
    load: () => inner.load(),
    commit: (changes) => inner.commit(changes),
    close: () => inner.close(),
    read: (seq) => inner.read(seq),
  };
  bench = await EngineBench.open({ store });
  await bench.create("q");
  await bench.ok("createBucket", { ...BUCKET, region: "us-east-1", tags: null });
  await put(SOUND);
  await put(DAMAGED);
  const target = { kind: "queue", id: "n", arn: arn("q"), events: [CREATED], rules: [] } as const;
  const config = { targets: [target], eventBridge: false };
  await bench.ok("setBucketNotification", { ...BUCKET, config, validate: false, origin: ORIGIN });
  fades = true;
});

function put(at: typeof SOUND) {
  blobs += 1;
  const pieces = [{ blob: `blob ${blobs}`, sizeBytes: 1 }];
  const named = { event: "Put", etag: "e", storageClass: "STANDARD", detail: DETAIL } as const;
  const input = { ...at, ...named, pieces, conditions: UNCONDITIONAL, origin: ORIGIN };
  return bench.ok("putObject", input);
}

async function upload(at: typeof SOUND) {
  const created = await bench.ok("createUpload", {
    ...at,
    storageClass: "STANDARD",
    detail: UPLOAD_DETAIL,
  });
  const named = { ...at, upload: created.id };
  const piece = { blob: "part", sizeBytes: 1 };
  const etag = "00".repeat(16);
  await bench.ok("putPart", { ...named, number: 1, piece, etag, checksum: "AAAAAA==" });
  const parts = [{ number: 1, etag, checksums: [] }];
  const rest = {
    checksum: null,
    checksumType: null,
    sizeBytes: null,
    conditions: UNCONDITIONAL,
    origin: ORIGIN,
  };
  return () => bench.ok("completeUpload", { ...named, parts, ...rest });
}

test("a damaged object fails only the operations that need it, without a reload (R1)", async () => {
  const { loads } = bench.store;
  const complete = await upload(DAMAGED);
  const tags = { ...DAMAGED, version: null, tags: {}, origin: ORIGIN };
  const refused = [
    bench.ok("findObject", { ...DAMAGED, version: null }),
    put(DAMAGED),
    bench.ok("setObjectTags", tags),
  ];
  const others = [bench.send("q", entry("a")), put(SOUND), bench.send("q", entry("b"))];
  for (const each of refused) await expect(each).rejects.toThrow("an object is damaged");
  await Promise.all(others);
  await expect(complete()).rejects.toThrow("an object is damaged");
  expect(bench.store.loads).toBe(loads);
  const bodies = (await bench.receive("q", { max: 10 })).map(({ body }) => body);
  expect(bodies.filter((body) => body.length === 1)).toEqual(["a", "b"]);
  expect(bodies.filter((body) => body.includes("ObjectCreated:Put"))).toHaveLength(1);
  expect(bodies).toHaveLength(3);
});

test("of several objects to delete, a damaged one is refused and the others are deleted (O2)", async () => {
  const { loads } = bench.store;
  const entries = [DAMAGED, SOUND].map(({ key }) => ({ key, version: null, ifMatch: null }));
  const gone = await bench.ok("deleteObjects", { ...BUCKET, entries, origin: ORIGIN });
  expect(gone).toMatchObject({
    results: [{ fault: { code: "InternalError" } }, { fault: null }],
    damage: [expect.objectContaining({ code: "TG_STORE_CORRUPT" })],
  });
  const deleted = await bench.broker.submit("findObject", { ...SOUND, version: null });
  expect(deleted).toMatchObject({ ok: false, fault: { code: "NoSuchKey" } });
  expect(bench.store.loads).toBe(loads);
});
