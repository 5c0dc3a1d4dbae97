// Console HTTP: the console as one function from request to reply, like the broker. It opens no
// sockets and reads no files; the server that mounts it has checked Host and Origin.
//   H1. A request that a browser marks as cross-site is refused, and so is a post without a JSON
//       content type: a foreign page can neither read nor act.
//   H2. An action needs a console that allows actions.
//   H3. Every failure is one sentence. The stack goes to `onError`, never to the client.
//   H4. The page's deep links are answered with the page itself, which reads the path.

import { TidegateError } from "../../core/errors.ts";
import { isForeignPage } from "../../core/foreign-page.ts";
import { mediaTypeOf } from "../../core/media-type-of.ts";
import type { HttpReply, HttpRequest } from "../../operate/cloud/embedded-cloud.ts";
import type { Clock, Random } from "../../operate/sources.ts";
import { type Access, type AccessOptions, createAccess } from "./access.ts";
import type { ConsoleCall, ConsoleRoute, ConsoleSource } from "./console-call.ts";
import {
  actionReply,
  ConsoleRefusal,
  refusalReply,
  refuseRequest,
  SAFE_HEADERS,
  viewReply,
} from "./console-reply.ts";
import { createFlowTracks } from "./flow-tracks.ts";
import { createJobs } from "./jobs.ts";
import { aText, readOrder, required } from "./read-order.ts";
import { CONSOLE_ROUTES } from "./routes.ts";

export const API_ROOT = "/_tidegate/api/v1";
export const PAGE_ROOT = "/_tidegate/console";
const POLL_MS = 1_000;

/** A file of the built page. */
export interface PageFile {
  readonly type: string;
  readonly body: string;
}

/** The built page: a file by its path below /_tidegate/console/, or why there is none. */
export interface PageFiles {
  read(path: string): Promise<PageFile | { readonly missing: string } | null>;
}

export interface ConsoleHttpOptions extends AccessOptions {
  readonly page: PageFiles;
  /** Who pauses a pipeline here. */
  readonly by: string;
  readonly traceUrl?: string | null | undefined;
  /** Called for failures that the client did not cause. Must not throw. */
  readonly onError: (error: unknown) => void;
}

export interface ConsoleHttp {
  answer(request: HttpRequest): Promise<HttpReply>;
  /** The path of a new one-time link into the console; the plain path without a token. */
  link(): string;
  close(): Promise<void>;
}

/** Asked of every request of the embedded cloud, so it builds no text. */
export function isConsolePath(path: string): boolean {
  return isBelow(path, API_ROOT) || isBelow(path, PAGE_ROOT);
}

function isBelow(path: string, root: string): boolean {
  return path.startsWith(root) && (path.length === root.length || path[root.length] === "/");
}

/** Whether the body is the content of an object, which is streamed. */
export function isUploadPath(method: string, path: string): boolean {
  return method === "PUT" && path.startsWith(`${API_ROOT}/buckets/`);
}

interface ConsolePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly source: ConsoleSource;
}

interface ConsoleParts extends Pick<ConsoleCall, "source" | "flows" | "jobs" | "settings"> {
  readonly access: Access;
  readonly page: PageFiles;
}

export function createConsoleHttp(ports: ConsolePorts, options: ConsoleHttpOptions): ConsoleHttp {
  const { clock, source } = ports;
  const flows = createFlowTracks({ clock, watch: source.watch }, POLL_MS);
  const parts: ConsoleParts = {
    source,
    flows,
    access: createAccess(ports, options),
    jobs: createJobs(ports),
    page: options.page,
    settings: {
      readOnly: source.readOnly,
      pollMs: POLL_MS,
      now: () => clock.now(),
      traceUrl: options.traceUrl ?? null,
      by: options.by,
    },
  };
  flows.start();
  return {
    async answer(request) {
      try {
        const isApi = request.path === API_ROOT || request.path.startsWith(`${API_ROOT}/`);
        return await (isApi ? answerApi(parts, request) : answerPage(parts, request));
      } catch (error) {
        return failureReply(error, options.onError); // H3
      }
    },
    link() {
      const code = parts.access.createCode();
      return code === null ? `${PAGE_ROOT}/` : `${PAGE_ROOT}/login?code=${code}`;
    },
    async close() {
      await flows.close();
      await parts.jobs.close();
      await source.watch.close();
    },
  };
}

async function answerApi(parts: ConsoleParts, request: HttpRequest): Promise<HttpReply> {
  const { access, source } = parts;
  if (isForeignPage(request)) {
    return refusalReply(403, "ForeignPage", "pages of other sites may not call the console"); // H1
  }
  if (request.bodyTooLarge) return refusalReply(413, "BodyTooLarge", "the body is too long");
  const isLogin = request.path === `${API_ROOT}/login` && request.method === "POST";
  if (isLogin) return login(access, request);
  access.check(request);
  const { route, names } = findRoute(request);
  if (request.method === "POST") checkJson(request);
  if (route.action && source.readOnly) {
    refuseRequest(403, "ReadOnly", "this console is read-only; start it with --allow-actions"); // H2
  }
  const parameters = new URLSearchParams(request.query);
  const answer = await route.answer({ ...parts, request, parameters, names });
  return isReply(answer) ? answer : viewReply(request, answer);
}

function login(access: Access, request: HttpRequest): HttpReply {
  access.checkOpen();
  checkJson(request);
  const { token } = readOrder(request, { token: aText });
  const cookie = access.login(required(token, "token"));
  if (cookie === null) return refusalReply(401, "WrongToken", "this is not the console's token");
  return actionReply(200, { done: true }, ["Set-Cookie", cookie]);
}

async function answerPage({ access, page }: ConsoleParts, request: HttpRequest) {
  access.checkOpen();
  if (request.method !== "GET" && request.method !== "HEAD") {
    return refusalReply(405, "WrongMethod", "the page accepts GET only");
  }
  if (request.path === PAGE_ROOT) return redirect(`${PAGE_ROOT}/`);
  const path = request.path.slice(PAGE_ROOT.length + 1);
  if (path === "login") {
    const code = new URLSearchParams(request.query).get("code") ?? "";
    const cookie = access.useCode(code);
    return redirect(`${PAGE_ROOT}/`, cookie === null ? [] : ["Set-Cookie", cookie]);
  }
  return pageReply(page, path);
}

function checkJson({ headers }: HttpRequest): void {
  if (mediaTypeOf(headers) === "application/json") return;
  refuseRequest(415, "NotJson", "a post needs the header Content-Type: application/json"); // H1
}

function isReply(answer: object): answer is HttpReply {
  return "status" in answer && "headers" in answer && "body" in answer;
}

function findRoute({ method, path }: HttpRequest) {
  const segments = segmentsOf(path.slice(API_ROOT.length + 1));
  const matches = CONSOLE_ROUTES.flatMap((route) => {
    const names = matchPath(route, segments);
    return names === null ? [] : [{ route, names }];
  });
  const match = matches.find(({ route }) => route.method === method);
  if (match !== undefined) return match;
  if (matches.length === 0) {
    return refuseRequest(404, "UnknownPath", "unknown path; see docs/reference/console-api.md");
  }
  const allowed = matches.map(({ route }) => route.method).join(", ");
  return refuseRequest(405, "WrongMethod", `this path accepts ${allowed}`);
}

function segmentsOf(path: string): string[] {
  try {
    return path.split("/").map(decodeURIComponent);
  } catch {
    return refuseRequest(400, "InvalidPath", "the path is not percent-encoded UTF-8");
  }
}

/** The segments in braces, or null if the path is another. */
function matchPath({ path }: ConsoleRoute, segments: readonly string[]): string[] | null {
  const pattern = path.split("/");
  if (pattern.length !== segments.length) return null;
  const names: string[] = [];
  for (const [at, part] of pattern.entries()) {
    const segment = segments[at] ?? "";
    if (part.startsWith("{")) names.push(segment);
    else if (part !== segment) return null;
  }
  return names;
}

function redirect(to: string, headers: readonly string[] = []): HttpReply {
  const all = [...SAFE_HEADERS, "Location", to, "Cache-Control", "no-store", ...headers];
  return { status: 303, headers: all, body: "" };
}

const HASHED = /^assets\//;

async function pageReply(page: PageFiles, path: string): Promise<HttpReply> {
  const isFile = HASHED.test(path) || /\.\w+$/.test(path);
  const file = await page.read(isFile ? path : "index.html"); // H4
  if (file === null) return refusalReply(404, "NotFound", "the console has no such file");
  if ("missing" in file) return refusalReply(503, "NotBuilt", file.missing);
  const cache = HASHED.test(path) ? "max-age=31536000, immutable" : "no-cache";
  const headers = [...SAFE_HEADERS, "Content-Type", file.type, "Cache-Control", cache];
  return { status: 200, headers, body: file.body };
}

const STATUS_BY_CODE: Readonly<Record<string, number>> = {
  TG_VALUE_INVALID: 400,
  TG_CONFIG_INVALID: 400,
  TG_LISTING_OFF: 501,
  TG_QUEUE_REFUSED: 409,
  TG_REPLAY_REFUSED: 409,
};

function failureReply(error: unknown, onError: (error: unknown) => void): HttpReply {
  if (error instanceof ConsoleRefusal) return refusalReply(error.status, error.code, error.message);
  if (error instanceof TidegateError) {
    return refusalReply(STATUS_BY_CODE[error.code] ?? 503, error.code, error.message);
  }
  onError(error);
  return refusalReply(500, "InternalError", "the console failed; the server's log has the reason");
}
