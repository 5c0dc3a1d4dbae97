import { expect, test } from "vitest";
import { createObjectsSink } from "../../src/sinks/objects/objects-sink.ts";
import { createMemoryObjectWriter } from "../../src/stores/memory/object-writer.ts";
import { describeObjectsSink } from "./objects-sink.ts";

const writer = createMemoryObjectWriter();
const bucket = "bucket";

describeObjectsSink({
  name: "memory",
  bucket,
  open: async () => writer,
  async read(key) {
    const object = writer.read(bucket, key);
    return object && new TextDecoder().decode(object.bytes);
  },
  async putForeign(key, body) {
    const bytes = new TextEncoder().encode(body);
    const object = { bucket, key, bytes, contentType: null, metadata: {} };
    await writer.write({ ...object, condition: { absent: true } }, new AbortController().signal);
  },
});

test("options that objects() cannot use are rejected", () => {
  const wrong = [{ bucket: "" }, { bucket: "b", names: "md5" }, { bucket: "b", onExisting: "no" }];
  for (const options of wrong) {
    expect(() => createObjectsSink(writer, options as never)).toThrow("objects()");
  }
});
