// Console API client: calls the console's API like a program would, and compares every answer with
// the OpenAPI file.

import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";

const path = join(import.meta.dirname, "../../docs/reference/console-api.openapi.json");
const openapi = JSON.parse(readFileSync(path, "utf8"));
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(openapi, "console");

interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the answers are compared with their schemas.
  readonly body: any;
}

interface ConsoleRequest {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Every method and path pattern of the OpenAPI file. */
export const CONSOLE_PATHS: readonly (readonly [string, string])[] = Object.entries<object>(
  openapi.paths,
).flatMap(([pattern, methods]) =>
  Object.keys(methods).map((method) => [method.toUpperCase(), pattern] as const),
);

/** A request as it is, with any headers, which fetch would not send. */
export function plainCall(url: string, given: ConsoleRequest = {}): Promise<ConsoleAnswer> {
  const { method = "GET", body = "", headers = {} } = given;
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (reply) => {
      const chunks: Buffer[] = [];
      reply.on("data", (chunk) => chunks.push(chunk));
      reply.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const isJson = reply.headers["content-type"] === "application/json" && text !== "";
        const { statusCode: status = 0, headers } = reply;
        resolve({ status, headers, text, body: isJson ? JSON.parse(text) : null });
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** A client of the API at an endpoint; throws if an answer does not match its schema. */
export function consoleClient(endpoint: string) {
  async function call(path: string, given: ConsoleRequest = {}): Promise<ConsoleAnswer> {
    const { method = "GET" } = given;
    const answer = await plainCall(`${endpoint}/_tidegate/api/v1${path}`, given);
    const [plain = ""] = path.split("?");
    const pattern = CONSOLE_PATHS.find(
      ([each, at]) => each === method && patternOf(at).test(plain),
    )?.[1];
    if (pattern === undefined || answer.status === 304) return answer;
    const { responses } = openapi.paths[pattern][method.toLowerCase()];
    const response = responses[String(answer.status)] ?? responses["400"];
    const where = response.$ref ?? null;
    const schema = where === null ? response.content["application/json"].schema.$ref : ERROR;
    const check = ajv.compile({ $ref: `console${schema}` });
    if (!check(answer.body)) {
      throw new Error(`${method} ${path}, ${answer.status}: ${ajv.errorsText(check.errors)}`);
    }
    return answer;
  }
  const post = (path: string, order: object) =>
    call(path, {
      method: "POST",
      body: JSON.stringify(order),
      headers: { "content-type": "application/json" },
    });
  return { call, post };
}

const ERROR = "#/components/schemas/Error";

function patternOf(path: string): RegExp {
  const [first = "", ...others] = path.split(/\{\w+\}/);
  return new RegExp(`^${[first, ...others].join("[^/]+")}$`);
}
