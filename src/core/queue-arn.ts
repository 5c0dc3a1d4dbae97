// Queue ARN: the identifier of a queue in policies.

export interface QueueArn {
  readonly region: string;
  readonly account: string;
  readonly name: string;
}

const QUEUE_ARN = /^arn:[\w-]+:sqs:([\w-]+):(\d{12}):([\w-]{1,80}(?:\.fifo)?)$/;

/** The parts of a queue's ARN, or null if the text is not one. */
export function parseQueueArn(text: string): QueueArn | null {
  const match = QUEUE_ARN.exec(text);
  if (match === null) return null;
  const [, region = "", account = "", name = ""] = match;
  return { region, account, name };
}
