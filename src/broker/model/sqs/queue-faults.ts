// QueueFaults: refusals that more than one operation gives, in AWS's words.

import { refuse } from "../fault.ts";

export function missingQueue() {
  return refuse("QueueDoesNotExist", "The specified queue does not exist.");
}

export function invalidHandle(handle: string) {
  const text = `The input receipt handle "${handle}" is not a valid receipt handle.`;
  return refuse("ReceiptHandleIsInvalid", text);
}

/** A FIFO queue tells a handle whose time is over, or that a later receive has replaced. */
export function expiredHandle(handle: string) {
  return invalidValue(handle, "ReceiptHandle", "The receipt handle has expired.");
}

export function invalidValue(value: string, parameter: string, reason: string) {
  const text = `Value ${value} for parameter ${parameter} is invalid. Reason: ${reason}`;
  return refuse("InvalidParameterValue", text);
}
