import { expect, test } from "vitest";
import { Capacity } from "./capacity.ts";

const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

test("whoever finds the room full waits, and enters in the order of arrival (R1)", async () => {
  const room = new Capacity({ countMax: 2, bytesMax: 100 });
  const entered: string[] = [];
  const enter = (name: string, bytes: number) =>
    void room.enter(bytes).then(() => entered.push(name));
  enter("a", 60);
  enter("b", 60); // Too many bytes beside a.
  enter("c", 10); // Would fit, but b came first.
  await settled();
  expect(entered).toEqual(["a"]);
  room.leave(60);
  await settled();
  expect(entered).toEqual(["a", "b", "c"]);
  enter("d", 10); // Too many.
  await settled();
  expect(entered).toHaveLength(3);
  room.leave(60);
  await settled();
  expect(entered).toHaveLength(4);
});

test("one that is bigger than the room gets it to itself (R1)", async () => {
  const room = new Capacity({ countMax: 2, bytesMax: 100 });
  const entered: string[] = [];
  await room.enter(10);
  void room.enter(500).then(() => entered.push("big"));
  await settled();
  expect(entered).toEqual([]);
  room.leave(10);
  await settled();
  expect(entered).toEqual(["big"]);
});

test("the room tells when it is empty", async () => {
  const room = new Capacity({ countMax: 1, bytesMax: 1 });
  await room.empty();
  await room.enter(1);
  const second = room.enter(1);
  let empty = false;
  const told = room.empty().then(() => {
    empty = true;
  });
  room.leave(1);
  await second;
  await settled();
  expect(empty).toBe(false);
  room.leave(1);
  await told;
});
