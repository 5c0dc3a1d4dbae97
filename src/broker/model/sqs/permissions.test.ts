import { expect, test } from "vitest";
import { arn, ModelBench } from "../../../../test/support/broker/model-bench.ts";

function createBench(): ModelBench {
  const bench = new ModelBench();
  bench.create("q");
  return bench;
}

const ONE = "111111111111";
const TWO = "222222222222";

function grant(label: string, accounts: string[], actions: string[]) {
  return { queue: "q", label, accounts, actions };
}

function policyOf(bench: ModelBench): unknown {
  const { Policy } = bench.attributes("q");
  return Policy === undefined ? null : JSON.parse(Policy);
}

test("one account and one action are bare elements, several are lists", () => {
  const bench = createBench();
  bench.ok("addPermission", grant("one", [ONE], ["ReceiveMessage"]));
  bench.ok("addPermission", grant("two", [ONE, TWO], ["SendMessage", "*"]));
  expect(policyOf(bench)).toEqual({
    Version: "2008-10-17",
    Id: `${arn("q")}/SQSDefaultPolicy`,
    Statement: [
      {
        Sid: "one",
        Effect: "Allow",
        Principal: { AWS: `arn:aws:iam::${ONE}:root` },
        Action: "SQS:ReceiveMessage",
        Resource: arn("q"),
      },
      {
        Sid: "two",
        Effect: "Allow",
        Principal: { AWS: [`arn:aws:iam::${ONE}:root`, `arn:aws:iam::${TWO}:root`] },
        Action: ["SQS:SendMessage", "SQS:*"],
        Resource: arn("q"),
      },
    ],
  });
});

test("a label is used once, and removing the last statement removes the policy", () => {
  const bench = createBench();
  bench.ok("addPermission", grant("x", [ONE], ["SendMessage"]));
  expect(bench.fault("addPermission", grant("x", [TWO], ["SendMessage"]))).toEqual({
    name: "InvalidParameterValue",
    message: "Value x for parameter Label is invalid. Reason: Already exists.",
  });
  expect(bench.fault("removePermission", { queue: "q", label: "y" })).toEqual({
    name: "InvalidParameterValue",
    message: "Value y for parameter Label is invalid. Reason: can't find label.",
  });
  bench.ok("removePermission", { queue: "q", label: "x" });
  expect(policyOf(bench)).toBe(null);
});

test("more than seven actions are over the limit; unknown actions and accounts are invalid", () => {
  const bench = createBench();
  const eight = [
    "ChangeMessageVisibility",
    "DeleteMessage",
    "GetQueueAttributes",
    "GetQueueUrl",
    "ListDeadLetterSourceQueues",
    "PurgeQueue",
    "ReceiveMessage",
    "SendMessage",
  ];
  expect(bench.fault("addPermission", grant("x", [ONE], eight)).name).toBe("OverLimit");
  bench.ok("addPermission", grant("x", [ONE], eight.slice(1)));
  const action = bench.fault("addPermission", grant("y", [ONE], ["CreateQueue"]));
  expect(action.name).toBe("InvalidParameterValue");
  const account = bench.fault("addPermission", grant("y", ["me"], ["SendMessage"]));
  expect(account.name).toBe("InvalidParameterValue");
});

test("a permission is added to the owner's policy, whatever its shape", () => {
  const bench = createBench();
  const shapes = [{}, { Statement: null }, { Statement: {} }, { Statement: [null, 7, "x"] }];
  for (const shape of shapes) {
    bench.set("q", { Policy: JSON.stringify(shape) });
    bench.ok("addPermission", grant("mine", [ONE], ["SendMessage"]));
    bench.ok("removePermission", { queue: "q", label: "mine" });
  }
});

test("a permission that would make the policy too long is refused, and nothing is added", () => {
  const bench = createBench();
  const accounts = Array.from({ length: 100 }, () => ONE);
  bench.ok("addPermission", grant("one", accounts, ["*"]));
  bench.ok("addPermission", grant("two", accounts, ["*"]));
  const before = policyOf(bench);
  expect(bench.fault("addPermission", grant("three", accounts, ["*"])).name).toBe("OverLimit");
  expect(policyOf(bench)).toEqual(before);
});
