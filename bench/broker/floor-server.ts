// Floor: the minimum work of any SQS on node:http for a SendMessage or a SendMessageBatch. It reads
// the JSON, computes the MD5 and a UUID, and responds as SQS does. It stores nothing.

import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Entry {
  readonly Id?: string;
  readonly MessageBody: string;
}

function answer(entry: Entry): Record<string, string> {
  const MD5OfMessageBody = createHash("md5").update(entry.MessageBody).digest("hex");
  const sent = { MessageId: randomUUID(), MD5OfMessageBody };
  return entry.Id === undefined ? sent : { Id: entry.Id, ...sent };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const input = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Entry & {
      readonly Entries?: readonly Entry[];
    };
    const output =
      input.Entries === undefined ? answer(input) : { Successful: input.Entries.map(answer) };
    const body = Buffer.from(JSON.stringify(output));
    response.writeHead(200, {
      "Content-Type": "application/x-amz-json-1.0",
      "Content-Length": body.length,
      "x-amzn-RequestId": randomUUID(),
    });
    response.end(body);
  });
});

server.listen(0, "127.0.0.1", () => {
  console.log(`ready http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
