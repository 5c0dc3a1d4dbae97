// The server of a data provider: lists the files of a batch, and serves each of them encrypted.
//   GET /batches/2026-02-28         [{"FileID":"accounts-2026-02-28","Entity":"accounts"}, ...]
//   GET /files/accounts-2026-02-28  the encrypted file

import { createServer, type Server } from "node:http";
import { encrypt, filesOf, plainText } from "./files.ts";

const PORT_DEFAULT = 4700;

export function createDownloadServer(onFile: (fileId: string) => void = () => {}): Server {
  return createServer((request, response) => {
    const [, kind, name = ""] = (request.url ?? "").split("/").map(decodeURIComponent);
    if (kind === "batches") {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(filesOf(name)));
    } else if (kind === "files" && !name.startsWith("missing")) {
      onFile(name);
      response.end(encrypt(plainText(name), name));
    } else {
      response.writeHead(404).end();
    }
  });
}

if (import.meta.main) {
  const port = Number(process.env.PORT ?? PORT_DEFAULT);
  createDownloadServer((fileId) => console.log(`download ${fileId}`)).listen(port, "127.0.0.1");
  console.log(`files at http://127.0.0.1:${port}`);
}
