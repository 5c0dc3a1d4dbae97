import { lambdaHandler } from "tidegate/lambda";
import orders from "../orders.ts";

export const handler = lambdaHandler(orders, {
  ledger: process.env.LEDGER ?? "",
  endpoint: process.env.AWS_ENDPOINT_URL,
});
