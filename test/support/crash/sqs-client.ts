// SQS client of the crash run: one connection to a server that may be killed at any moment.
//   C1. Null means that no response came. A response other than 200 is thrown, because the
//       clients send only requests that must succeed.

import { openConnection, type RawConnection } from "../../../bench/broker/raw-connection.ts";
import { getRequest, sqsRequest } from "../../../bench/broker/sqs-request.ts";

export class UnexpectedResponse extends Error {}

export interface SqsClient {
  call(action: string, input: Record<string, unknown>): Promise<Record<string, unknown> | null>;
  get(path: string): Promise<Record<string, unknown> | null>;
  close(): void;
}

/** Connects; null if the server is already killed. */
export async function connectClient(port: number): Promise<SqsClient | null> {
  let connection: RawConnection;
  try {
    connection = await openConnection(port);
  } catch {
    return null; // C1: the server no longer listens.
  }
  async function exchange(what: string, bytes: Buffer): Promise<Record<string, unknown> | null> {
    const reply = await connection.call(bytes);
    if (reply === null) return null; // C1
    const text = reply.body.toString("utf8");
    if (reply.status !== 200) throw new UnexpectedResponse(`${what}: ${reply.status} ${text}`);
    return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>);
  }
  return {
    call: (action, input) => {
      const short = `${action} ${JSON.stringify(input).slice(0, 300)}`;
      return exchange(short, sqsRequest(port, action, input));
    },
    get: (path) => exchange(path, getRequest(port, path)),
    close: () => connection.close(),
  };
}

/** For calls that must get a response, because no kill is planned. */
export async function must<T>(answer: Promise<T | null>): Promise<T> {
  const value = await answer;
  if (value === null) throw new UnexpectedResponse("the server ended without being killed");
  return value;
}
