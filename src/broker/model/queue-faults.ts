// QueueFaults: refusals that more than one operation gives, in AWS's words.

import { refuse } from "./fault.ts";

export function missingQueue() {
  return refuse("QueueDoesNotExist", "The specified queue does not exist.");
}

export function invalidHandle(handle: string) {
  const text = `The input receipt handle "${handle}" is not a valid receipt handle.`;
  return refuse("ReceiptHandleIsInvalid", text);
}

export function invalidValue(value: string, parameter: string, reason: string) {
  const text = `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`;
  return refuse("InvalidParameterValue", text);
}
