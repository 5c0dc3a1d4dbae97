import { expect, test } from "vitest";
import { pipeline, tables } from "./define-pipeline.ts";

/** What a file without types may say. */
function made(more: object): unknown {
  const spec = { name: "orders", source: { bucket: "shop" }, handler: () => undefined, ...more };
  return pipeline(spec as never);
}

test.each<[string, object, string]>([
  ["a mask that is misspelt", { masks: ["payload.x"] }, 'the pipeline has no setting "masks"'],
  ["a prefix that is null", { source: { bucket: "b", prefix: null } }, "source.prefix must be"],
  ["a prefix that is a number", { source: { bucket: "b", prefix: 5 } }, "source.prefix must be"],
  ["a prefix without its bucket", { source: { queue: "q", prefix: "in/" } }, 'setting "prefix"'],
  ["a kind of content there is not", { source: { queue: "q", contents: "x" } }, "source.contents"],
  ["a queue that is a number", { source: { bucket: "b", queue: 5 } }, "source.queue must name"],
  ["a retry setting that is misspelt", { retry: { max: 3 } }, 'retry has no setting "max"'],
  ["a retry that is null", { retry: null }, "retry must be an object"],
  ["a retry that is a number", { retry: 3 }, "retry must be an object"],
  ["a concurrency that is null", { concurrency: null }, "concurrency must be a number or an"],
  [
    "a concurrency that is misspelt",
    { concurrency: { max: 3 } },
    'concurrency has no setting "max"',
  ],
  ["a classifyError that is a list", { classifyError: [] }, "classifyError must be a function"],
  ["a classifyError that is a number", { classifyError: 5 }, "classifyError must be a function"],
])("%s is refused, since nobody would notice otherwise (F1)", (_, more, told) => {
  expect(() => made(more)).toThrow(told);
});

test("an option of tables that is misspelt is refused", () => {
  const orders = { columns: { id: "text" }, key: ["id"] } as const;
  const misspelt = { onRemove: "keep" } as never;
  expect(() => tables({ orders }, misspelt)).toThrow('tables() has no setting "onRemove"');
});

test("what is left out, or undefined, is no mistake", () => {
  const more = {
    retry: undefined,
    concurrency: undefined,
    classifyError: undefined,
    mask: undefined,
  };
  expect(made({ ...more, source: { bucket: "b", prefix: undefined } })).toMatchObject({
    source: { prefix: "", queue: null },
  });
});
