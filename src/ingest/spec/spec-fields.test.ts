import { expect, test } from "vitest";
import { pipeline, tables } from "./define-pipeline.ts";

/** Defines a pipeline as a file without types may. */
function defined(more: object): unknown {
  const spec = { name: "orders", source: { bucket: "shop" }, handler: () => undefined, ...more };
  return pipeline(spec as never);
}

test.each<[string, object, string]>([
  ["a misspelt mask", { masks: ["payload.x"] }, 'in pipeline(); did you mean "mask"?'],
  [
    "a misspelt retry",
    { retires: {} },
    'unknown field "retires" in pipeline(); did you mean "retry"?',
  ],
  ["a prefix that is null", { source: { bucket: "b", prefix: null } }, "source.prefix must be"],
  ["a prefix that is a number", { source: { bucket: "b", prefix: 5 } }, "source.prefix must be"],
  [
    "a prefix without its bucket",
    { source: { queue: "q", prefix: "in/" } },
    'unknown field "prefix" in source',
  ],
  ["an unknown kind of contents", { source: { queue: "q", contents: "x" } }, "source.contents"],
  ["a queue that is a number", { source: { bucket: "b", queue: 5 } }, "source.queue must name"],
  ["an unknown field of retry", { retry: { max: 3 } }, 'unknown field "max" in retry'],
  ["a retry that is null", { retry: null }, "retry must be an object"],
  ["a retry that is a number", { retry: 3 }, "retry must be an object"],
  ["a concurrency that is null", { concurrency: null }, "concurrency must be a number or an"],
  [
    "an unknown field of concurrency",
    { concurrency: { max: 3 } },
    'unknown field "max" in concurrency',
  ],
  ["a classifyError that is a list", { classifyError: [] }, "classifyError must be a function"],
  ["a govern that is a list of rules", { govern: [] }, "govern must be a function of the event"],
  ["a classifyError that is a number", { classifyError: 5 }, "classifyError must be a function"],
])("%s is rejected (F1)", (_, more, message) => {
  expect(() => defined(more)).toThrow(message);
});

test("a misspelt option of tables() is rejected", () => {
  const orders = { columns: { id: "text" }, key: ["id"] } as const;
  const misspelt = { onRemove: "keep" } as never;
  expect(() => tables({ orders }, misspelt)).toThrow('unknown field "onRemove" in tables()');
});

test("absent and undefined fields are valid", () => {
  const more = {
    retry: undefined,
    concurrency: undefined,
    classifyError: undefined,
    mask: undefined,
  };
  expect(defined({ ...more, source: { bucket: "b", prefix: undefined } })).toMatchObject({
    source: { prefix: "", queue: null },
  });
});
