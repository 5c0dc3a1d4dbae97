import { test } from "node:test";
import { complianceTests } from "tidegate/testkit";
import produce from "./producer.ts";

for (const { title, run } of complianceTests(produce)) test(title, run);
