// Settlement fault: what it means when a queue refuses to delete a message or to change its
// visibility. It looks at code and text, because AWS reports two different cases under one code.

/** The receipt itself is invalid: no call with it can ever succeed. */
const RECEIPT_IS_DEAD = /(^|\.)(ReceiptHandleIsInvalid|MessageNotInflight)$/;
const ABOUT_THE_RECEIPT = /for parameter ReceiptHandle is invalid/;
const REASON = /Reason: (.+)$/s;

export interface SettlementFault {
  readonly kind: "gone" | "failed";
  readonly reason: string;
}

export function settlementFault(code: string, message: string): SettlementFault {
  const dead = RECEIPT_IS_DEAD.test(code) || ABOUT_THE_RECEIPT.test(message);
  // The text before the reason repeats the receipt, which is long and useless to a reader.
  const reason = REASON.exec(message)?.[1] ?? message;
  return { kind: dead ? "gone" : "failed", reason: `${code}: ${reason}` };
}
