// Consumer client: an SQS client for a consumer, which sends many small requests.
//   N1. It checks the MD5 of every body, as the SDK does by default. Only the hash function
//       differs: one call per body instead of a digest object.
//   N2. It has no logger. By default the SDK copies all messages of a response into a log line that
//       no logger writes.

import { SQSClient, type SQSClientConfig } from "@aws-sdk/client-sqs";
import { md5Bytes } from "../../core/encoding/hash.ts";

/** The MD5 of the bytes of one call; the SDK hashes a body in one (N1). */
class BodyMd5 {
  #bytes: Uint8Array = new Uint8Array();

  update(bytes: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
  }

  async digest(): Promise<Uint8Array> {
    return md5Bytes(this.#bytes);
  }

  reset(): void {
    this.#bytes = new Uint8Array();
  }
}

export function createConsumerClient(config: Omit<SQSClientConfig, "logger" | "md5">): SQSClient {
  const client = new SQSClient({ ...config, md5: BodyMd5 });
  client.middlewareStack.remove("loggerMiddleware"); // N2
  return client;
}
