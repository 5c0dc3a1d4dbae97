// Console page server: the built page and the fake API on one port, with the content security
// policy under which the console is served.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { buildConsole } from "../../scripts/build-console.ts";
import { answerConsole, FakeConsoleState } from "./console-fake-api.ts";

const PAGE = "/_tidegate/console/";
const API = "/_tidegate/api/v1";
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

export interface ConsolePageServer extends AsyncDisposable {
  readonly url: string;
  /** Folder of the built page. */
  readonly folder: string;
  /** What the API answers with; replace it to start over. */
  state: FakeConsoleState;
  /** While true, connections are cut without an answer. */
  down: boolean;
}

export async function startConsolePage(): Promise<ConsolePageServer> {
  const folder = mkdtempSync(join(tmpdir(), "tidegate-console-"));
  await buildConsole(folder);
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    if (console.down) request.socket.destroy();
    else if (url.pathname.startsWith(API)) void answerApi(console, request, response, url);
    else answerFile(folder, response, url.pathname);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const console: ConsolePageServer = {
    url: `http://127.0.0.1:${port}${PAGE}`,
    folder,
    state: new FakeConsoleState(),
    down: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return console;
}

async function answerApi(
  { state }: ConsolePageServer,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  const isJson = request.headers["content-type"] === "application/json";
  const call = {
    method: request.method ?? "GET",
    path: url.pathname.slice(API.length),
    query: url.searchParams,
    body: isJson ? JSON.parse(text) : text,
  };
  const { withheld } = state;
  if (withheld?.path.test(call.path)) {
    if (withheld.how === "cut") request.socket.destroy();
    return; // A request that waits ends with its page.
  }
  const { status, body } = answerConsole(state, call);
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function answerFile(folder: string, response: ServerResponse, path: string): void {
  const name = path === PAGE ? "index.html" : path.slice(PAGE.length);
  try {
    const bytes = readFileSync(join(folder, name));
    const headers = {
      "content-type": CONTENT_TYPES[extname(name)] ?? "application/octet-stream",
      "content-security-policy": "default-src 'self'",
    };
    response.writeHead(200, headers).end(bytes);
  } catch {
    response.writeHead(404).end();
  }
}
