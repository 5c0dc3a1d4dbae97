import { expect, test } from "vitest";
import { Capacity } from "./capacity.ts";

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("callers wait while capacity is full, and enter in the order of arrival (R1)", async () => {
  const capacity = new Capacity({ countMax: 2, bytesMax: 100 });
  const entered: string[] = [];
  const enter = (name: string, bytes: number) =>
    void capacity.enter(bytes).then(() => entered.push(name));
  enter("a", 60);
  enter("b", 60); // Too many bytes beside a.
  enter("c", 10); // Would fit, but b came first.
  await nextTurn();
  expect(entered).toEqual(["a"]);
  capacity.leave(60);
  await nextTurn();
  expect(entered).toEqual(["a", "b", "c"]);
  enter("d", 10); // Too many.
  await nextTurn();
  expect(entered).toHaveLength(3);
  capacity.leave(60);
  await nextTurn();
  expect(entered).toHaveLength(4);
});

test("an item larger than the capacity waits until it is alone (R1)", async () => {
  const capacity = new Capacity({ countMax: 2, bytesMax: 100 });
  const entered: string[] = [];
  await capacity.enter(10);
  void capacity.enter(500).then(() => entered.push("big"));
  await nextTurn();
  expect(entered).toEqual([]);
  capacity.leave(10);
  await nextTurn();
  expect(entered).toEqual(["big"]);
});

test("empty() resolves when nothing is in flight or waiting", async () => {
  const capacity = new Capacity({ countMax: 1, bytesMax: 1 });
  await capacity.empty();
  await capacity.enter(1);
  const second = capacity.enter(1);
  let empty = false;
  const emptied = capacity.empty().then(() => {
    empty = true;
  });
  capacity.leave(1);
  await second;
  await nextTurn();
  expect(empty).toBe(false);
  capacity.leave(1);
  await emptied;
});
