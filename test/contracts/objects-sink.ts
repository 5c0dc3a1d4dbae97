// The contract of the objects sink, over every object writer.
// objects-sink.<writer>.test.ts binds it to each.

import { describe, expect, test } from "vitest";
import { asRecordKey, fenceOf } from "../../src/ledger/record-state.ts";
import type { ObjectWriter } from "../../src/ports/objects/object-writer.ts";
import type { IdempotentSink } from "../../src/ports/sink.ts";
import { createFunctionSink } from "../../src/sinks/function/function-sink.ts";
import {
  createObjectsSink,
  type EmittedObject,
  type ObjectsSinkOptions,
} from "../../src/sinks/objects/objects-sink.ts";

export interface ObjectsSubject {
  readonly name: string;
  readonly bucket: string;
  open(): Promise<ObjectWriter>;
  /** The text of an object; undefined if there is none. */
  read(key: string): Promise<string | undefined>;
  /** Puts an object past the sink. */
  putForeign(key: string, body: string): Promise<void>;
}

const NEVER = new AbortController().signal;
const SHA256_OF_X = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

export function describeObjectsSink(subject: ObjectsSubject): void {
  describe(`the objects sink on ${subject.name}`, () => {
    const { bucket, read } = subject;
    let prefixes = 0;

    async function open(
      options: Partial<ObjectsSinkOptions> = {},
      wrap = (it: ObjectWriter) => it,
    ) {
      prefixes += 1;
      const prefix = `${prefixes}/`;
      const writer = wrap(await subject.open());
      const sink = createFunctionSink(createObjectsSink(writer, { bucket, prefix, ...options }));
      const apply = (record: string, fence: number, ...effects: EmittedObject[]) =>
        applyTo(sink, record, fence, effects);
      return { sink, prefix, apply, text: (key: string) => read(`${prefix}${key}`) };
    }

    test("an emitted object is written, and again by the same attempt without a change", async () => {
      const { apply, text } = await open();
      await apply("r", 1, { key: "a b/ü+%.csv", body: "x", contentType: "text/csv" });
      await apply("r", 1, { key: "a b/ü+%.csv", body: "x" });
      expect(await text("a b/ü+%.csv")).toBe("x");
    });

    test("a later attempt wins, and an earlier one cannot replace it (O2)", async () => {
      const { apply, text } = await open();
      await apply("r", 1, { key: "a", body: "first" });
      await apply("r", 3, { key: "a", body: "third" });
      expect(await text("a")).toBe("third");
      await apply("r", 2, { key: "a", body: "second" });
      await apply("r", 1, { key: "a", body: "first" });
      expect(await text("a")).toBe("third");
    });

    test("an attempt that finds its own bytes writes nothing (O5)", async () => {
      let stored = 0;
      const { apply, text } = await open({}, (writer) => ({
        ...writer,
        async write(...object) {
          const result = await writer.write(...object);
          if (result === "stored") stored += 1;
          return result;
        },
      }));
      for (const fence of [1, 1, 3, 2]) await apply("r", fence, { key: "a", body: "x" });
      expect(await text("a")).toBe("x");
      expect(stored).toBe(1);
    });

    test("an attempt that is overtaken between its look and its write cannot replace the newer object", async () => {
      let meanwhile: (() => Promise<void>) | null = null;
      const { apply, text } = await open({}, (writer) => ({
        ...writer,
        async look(...location) {
          const existing = await writer.look(...location);
          const work = meanwhile;
          meanwhile = null;
          await work?.();
          return existing;
        },
      }));
      await apply("r", 1, { key: "a", body: "first" });
      meanwhile = () => apply("r", 3, { key: "a", body: "third" });
      await apply("r", 2, { key: "a", body: "second" });
      expect(await text("a")).toBe("third");
    });

    test("the object of another record, or of anyone else, is rejected, kept or replaced (O3)", async () => {
      const first = await open();
      await first.apply("r", 1, { key: "a", body: "r" });
      await expect(first.apply("s", 9, { key: "a", body: "s" })).rejects.toMatchObject({
        code: "TG_SINK_REFUSED",
      });
      await subject.putForeign(`${first.prefix}b`, "foreign");
      await expect(first.apply("s", 9, { key: "b", body: "s" })).rejects.toMatchObject({
        code: "TG_SINK_REFUSED",
      });
      expect([await first.text("a"), await first.text("b")]).toEqual(["r", "foreign"]);
      for (const [onExisting, body] of [
        ["keep", "r"],
        ["replace", "s"],
      ] as const) {
        const { apply, text } = await open({ onExisting });
        await apply("r", 1, { key: "a", body: "r" });
        await apply("s", 1, { key: "a", body: "s" });
        expect(await text("a")).toBe(body);
      }
    });

    test("by content hash, equal bytes are one object, whichever record wrote it (O4)", async () => {
      const { apply, text } = await open({ names: "sha256" });
      await apply("r", 1, { body: "x" }, { body: new TextEncoder().encode("x") });
      await apply("s", 1, { body: "x" });
      expect(await text(SHA256_OF_X)).toBe("x");
      await expect(apply("r", 2, { key: "a", body: "x" })).rejects.toThrow('names is "sha256"');
    });

    test("of many concurrent attempts, the latest one wins", async () => {
      const { apply, text } = await open();
      const fences = [3, 1, 6, 2, 5, 4];
      await Promise.all(fences.map((fence) => apply("r", fence, { key: "a", body: `${fence}` })));
      expect(await text("a")).toBe("6");
    });

    test("a conflict of two conditional writes is looked at again (W3)", async () => {
      let conflicts = 3;
      const { apply, text } = await open({}, (writer) => ({
        ...writer,
        async write(...object) {
          conflicts -= 1;
          return conflicts >= 0 ? "conflict" : await writer.write(...object);
        },
      }));
      await apply("r", 1, { key: "a", body: "x" });
      expect(await text("a")).toBe("x");
      conflicts = Number.POSITIVE_INFINITY;
      await expect(apply("r", 2, { key: "a", body: "y" })).rejects.toMatchObject({
        code: "TG_SINK_UNAVAILABLE",
      });
    });

    test("a write whose answer was lost is recognised when it is repeated (W2)", async () => {
      let lose = true;
      const { apply, text } = await open({}, (writer) => ({
        ...writer,
        async write(...object) {
          const result = await writer.write(...object);
          if (!lose) return result;
          lose = false;
          throw new Error("lost");
        },
      }));
      await expect(apply("r", 1, { key: "a", body: "x" })).rejects.toThrow("lost");
      await apply("r", 1, { key: "a", body: "x" });
      await apply("r", 2, { key: "a", body: "y" });
      expect(await text("a")).toBe("y");
    });

    test("values that are not objects, and keys that S3 cannot have, are rejected before a write", async () => {
      const { sink, apply, text } = await open();
      const bad: unknown[] = [null, 1, "text", {}, { key: "", body: "" }, { key: "k", body: 1 }];
      for (const value of [
        ...bad,
        { key: "\ud800", body: "" },
        { key: "k".repeat(1_025), body: "" },
      ]) {
        const applying = applyTo(sink, "r", 1, [
          { key: "good", body: "x" },
          value as EmittedObject,
        ]);
        await expect(applying).rejects.toMatchObject({ code: "TG_SINK_REFUSED" });
      }
      const twice = apply("r", 1, { key: "a", body: "1" }, { key: "a", body: "2" });
      await expect(twice).rejects.toMatchObject({ code: "TG_SINK_REFUSED" });
      expect(await text("good")).toBeUndefined();
      await apply("r", 1, { key: "empty", body: "" });
      expect(await text("empty")).toBe("");
    });

    test("an aborted attempt writes nothing more", async () => {
      const { sink, text } = await open();
      const effects = [{ kind: "custom", value: { key: "a", body: "x" } }] as const;
      const origin = {
        key: asRecordKey("r"),
        fence: fenceOf(1),
        object: null,
        eventTime: 0 as never,
      };
      const aborted = sink.apply(effects, origin, AbortSignal.abort(new Error("lease lost")));
      await expect(aborted).rejects.toThrow("lease lost");
      expect(await text("a")).toBeUndefined();
    });
  });
}

async function applyTo(
  sink: IdempotentSink,
  record: string,
  fence: number,
  effects: readonly EmittedObject[],
): Promise<void> {
  const origin = { key: asRecordKey(record), fence: fenceOf(fence), object: null };
  const customs = effects.map((value) => ({ kind: "custom", value }) as const);
  await sink.apply(customs, { ...origin, eventTime: 0 as never }, NEVER);
}
