import { openOperator } from "tidegate/operate";
import orders from "./orders.ts";

await using operator = openOperator({ pipeline: orders });
const { deadLetters } = operator;

for await (const deadLetter of deadLetters.list({ class: "schema" })) {
  console.log(deadLetter.object, deadLetter.message);
}

// Back to the queue; the result is there once each record is committed or has failed again.
const redrive = deadLetters.redrive({ class: "schema" });
for await (const event of redrive) console.log(event.kind, event.item.key);
const { committed, failedAgain } = await redrive.result();
console.log(`${committed} committed, ${failedAgain} failed again`);

const { dropped } = await deadLetters.drop({ class: "schema" }).result(); // deleted permanently
console.log(`${dropped} dropped`);
