// QueueFaults: refusals that several operations share, in AWS's words.

import { refuse } from "../fault.ts";

export function missingQueue() {
  return refuse("QueueDoesNotExist", "The specified queue does not exist.");
}

export function invalidHandle(handle: string) {
  const text = `The input receipt handle "${handle}" is not a valid receipt handle.`;
  return refuse("ReceiptHandleIsInvalid", text);
}

/** FIFO: the handle has expired, or a later receive has replaced it. */
export function expiredHandle(handle: string) {
  return invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.");
}

export function invalidValue(value: string, parameter: string, reason: string) {
  const text = `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`;
  return refuse("InvalidParameterValue", text);
}
