import { openDeadLetters } from "tidegate/dead-letters";
import orders from "./orders.ts";

await using deadLetters = await openDeadLetters({ pipeline: orders });

for await (const deadLetter of deadLetters.list({ class: "schema" })) {
  console.log(deadLetter.object, deadLetter.message);
}

// Back to the queue; resolves once each record is committed or has failed again.
const redriven = await deadLetters.redrive({ class: "schema" });
console.log(`${redriven.committed} committed, ${redriven.failedAgain} failed again`);

const { dropped } = await deadLetters.drop({ class: "schema" }); // deleted permanently
console.log(`${dropped} dropped`);
