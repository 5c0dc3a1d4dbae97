// SQS client of the crash run: one connection to a server that may be gone at any moment.
//   C1. Null means that there was no answer. An answer other than 200 is thrown, since the clients
//       only ask for what must succeed.

import { openConnection, type RawConnection } from "../../../bench/broker/raw-connection.ts";
import { getRequest, sqsRequest } from "../../../bench/broker/sqs-request.ts";

export class UnexpectedAnswer extends Error {}

export interface SqsClient {
  call(action: string, input: Record<string, unknown>): Promise<Record<string, unknown> | null>;
  get(path: string): Promise<Record<string, unknown> | null>;
  close(): void;
}

/** Connects; null when the server is gone already. */
export async function connectClient(port: number): Promise<SqsClient | null> {
  let connection: RawConnection;
  try {
    connection = await openConnection(port);
  } catch {
    return null; // C1: nobody listens any more.
  }
  async function ask(what: string, bytes: Buffer): Promise<Record<string, unknown> | null> {
    const reply = await connection.call(bytes);
    if (reply === null) return null; // C1
    const text = reply.body.toString("utf8");
    if (reply.status !== 200) throw new UnexpectedAnswer(`${what}: ${reply.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  }
  return {
    call: (action, input) => {
      const short = `${action} ${JSON.stringify(input).slice(0, 300)}`;
      return ask(short, sqsRequest(port, action, input));
    },
    get: (path) => ask(path, getRequest(port, path)),
    close: () => connection.close(),
  };
}

/** For calls that must be answered, as nobody is about to kill the server. */
export async function must<T>(answer: Promise<T | null>): Promise<T> {
  const value = await answer;
  if (value === null) throw new UnexpectedAnswer("the server went away while nobody killed it");
  return value;
}
