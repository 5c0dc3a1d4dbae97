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
  ["a classify that is a list", { retry: { classify: [] } }, "retry.classify must be a function"],
  ["a govern that is a list of rules", { govern: [] }, "govern must be a function of the event"],
  ["a classify that is a number", { retry: { classify: 5 } }, "retry.classify must be a function"],
  ["a group that is a number", { retention: 45 }, "retention must be an object"],
  [
    "an unknown field of retention",
    { retention: { days: 3 } },
    'unknown field "days" in retention',
  ],
  ["an unknown field of eventTime", { eventTime: { off: 3 } }, 'did you mean "of"?'],
  ["an unknown field of frozen", { frozen: { seeds: "" } }, 'did you mean "seed"?'],
  ["a frozen that is a list", { frozen: [] }, "frozen must be an object"],
  ["a policy that does not exist", { eventTime: { late: "drop" } }, "eventTime.late must be"],
  ["a span that is text", { eventTime: { outOfOrderMs: "1h" } }, "eventTime.outOfOrderMs must be"],
])("%s is rejected (F1)", (_, more, message) => {
  expect(() => defined(more)).toThrow(message);
});

test.each<[string, unknown, string]>([
  ["eventTime", () => 0, "eventTime must be { of: (event) => ... }"],
  ["partition", () => "a", "partition moved to eventTime.partition"],
  ["outOfOrderMs", 0, "outOfOrderMs moved to eventTime.outOfOrderMs"],
  ["allowedLatenessMs", 0, "allowedLatenessMs moved to eventTime.allowedLatenessMs"],
  ["late", "hold", "late moved to eventTime.late"],
  ["seed", "7", "seed moved to frozen.seed"],
  ["parameters", {}, "parameters moved to frozen.parameters"],
  ["models", {}, "models moved to frozen.models"],
  ["lookups", {}, "lookups moved to frozen.lookups"],
  ["ledgerRetentionDays", 7, "ledgerRetentionDays moved to retention.ledgerDays"],
  ["outboxRetentionDays", 7, "outboxRetentionDays moved to retention.outboxDays"],
  ["classifyError", () => undefined, "classifyError moved to retry.classify"],
])("the former field %s is rejected with its new name (F2)", (name, value, problem) => {
  expect(() => defined({ [name]: value })).toThrow(problem);
  expect(() => defined({ [name]: value })).not.toThrow(`unknown field "${name}"`);
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
    eventTime: undefined,
    retention: undefined,
    frozen: undefined,
    mask: undefined,
  };
  expect(defined({ ...more, source: { bucket: "b", prefix: undefined } })).toMatchObject({
    source: { prefix: "", queue: null },
  });
});
