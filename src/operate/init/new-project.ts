// New project: the files that `tidegate init` writes: a pipeline that runs, and its test.
//   N1. Nothing is overwritten. If one of the files exists, none is written.

import { existsSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { reasonOf, refuseConfig, TidegateError } from "../../core/errors.ts";
import { ensureFolder } from "../../run/open/ensure-folder.ts";

const PIPELINE = "pipeline.ts";
/** `tidegate dev` suggests it, and `tidegate prove` uses its folder. */
const SAMPLE = "samples/monday.csv";
/** The range of the peer dependency in the package. */
const SDK_RANGE = "^3.1000.0";
const NAME_DEFAULT = "my-pipeline";
/** A valid bucket name: the bucket has the name of the project. */
const NAME = /^[a-z][a-z0-9-]{1,40}[a-z0-9]$/;

/**
 * Writes a project into `folder`, which is created if it does not exist, and returns the names of
 * the files (N1). `dependency` is the version of Tidegate in its package.json.
 */
export function writeProject(folder: string, dependency: string): readonly string[] {
  const files = projectFiles(projectName(folder), dependency);
  const existing = Object.keys(files).filter((name) => existsSync(join(folder, name)));
  if (existing.length > 0) {
    refuseConfig(`${folder} already has ${existing.join(", ")}; nothing was written`);
  }
  ensureFolder("project", folder);
  ensureFolder("project", join(folder, dirname(SAMPLE)));
  for (const [name, text] of Object.entries(files)) writeOwn(join(folder, name), text);
  return Object.keys(files);
}

function writeOwn(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: "wx" });
  } catch (cause) {
    const message = `cannot write ${path}: ${reasonOf(cause)}`;
    throw new TidegateError("TG_CONFIG_INVALID", message, { cause });
  }
}

/** The name of a project in that folder, valid for a package, a pipeline and a bucket. */
export function projectName(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
  return NAME.test(name) ? name : NAME_DEFAULT;
}

function projectFiles(name: string, dependency: string): Readonly<Record<string, string>> {
  return {
    "package.json": packageJson(name, dependency),
    "tsconfig.json": TSCONFIG,
    [PIPELINE]: pipelineFile(name),
    "pipeline.test.ts": TEST_FILE,
    "README.md": readme(name),
    [SAMPLE]: "id,customer,amount\n1,Ada,9.50\n2,Grace,12\n",
    ".gitignore": "node_modules/\n.tidegate/\ninbox/\n",
  };
}

function packageJson(name: string, dependency: string): string {
  const value = {
    name,
    private: true,
    type: "module",
    scripts: {
      start: `tidegate dev ${PIPELINE} --watch-folder inbox`,
      test: "node --test",
      check: "tsc",
      prove: `tidegate prove ${PIPELINE}`,
    },
    // Commands reach queues and objects, of the embedded cloud too, with the SDK.
    dependencies: {
      "@aws-sdk/client-s3": SDK_RANGE,
      "@aws-sdk/client-sqs": SDK_RANGE,
      tidegate: dependency,
    },
    devDependencies: { "@types/node": "^24.0.0", typescript: "^5.9.0" },
    engines: { node: ">=22.18" },
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true
  }
}
`;

function pipelineFile(name: string): string {
  return `// Reads files of orders and writes a table of orders.

import { PermanentError, pipeline, tables } from "tidegate";

export default pipeline({
  name: "${name}",
  source: { bucket: "${name}", prefix: "in/" },

  sink: tables({
    orders: {
      columns: { id: "text", customer: "text", amount: "real" },
      key: ["id"],
    },
  }),

  // rows() reads CSV, JSON Lines, JSON and Parquet. Upserts are committed after the handler has
  // returned, in one transaction with the ledger: all rows of a file exactly once, or none.
  async handler(file, { upsert }) {
    for await (const row of file.rows()) upsert("orders", orderOf(row));
  },
});

/** Validates a row by hand. You can use \`schema\` with zod, valibot or arktype instead. */
function orderOf(row: unknown): { id: string; customer: string; amount: number } {
  const { id, customer, amount } = row as Record<string, unknown>;
  const value = Number(amount);
  if (typeof id !== "string" || id === "" || Number.isNaN(value)) {
    // A retry would not help, so the file goes to the dead-letter queue immediately.
    throw new PermanentError(\`not an order: \${JSON.stringify(row)}\`, { class: "order" });
  }
  return { id, customer: String(customer ?? ""), amount: value };
}
`;
}

const TEST_FILE = `import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestPipeline } from "tidegate/testkit";
import orders from "./${PIPELINE}";

test("an order is in the table once, however often its file is put", async () => {
  // The pipeline on an embedded cloud in memory, in virtual time: retries take no real time.
  const t = await startTestPipeline(orders);
  try {
    const file = "id,customer,amount\\n1,Ada,9.50\\n2,Grace,12\\n";
    await t.put("in/monday.csv", file);
    await t.put("in/monday.csv", file);
    await t.put("in/broken.csv", "id,customer,amount\\n3,Alan,lots\\n");
    await t.idle();
    const rows = t.rows("orders").map(({ id, amount }) => [id, amount]);
    assert.deepEqual(rows, [["1", 9.5], ["2", 12]]);
    const [deadLetter] = await t.deadLetters();
    assert.equal(deadLetter?.object, "s3://" + t.names.bucket + "/in/broken.csv");
  } finally {
    await t.close();
  }
});
`;

function readme(name: string): string {
  return `# ${name}

A [Tidegate](https://www.npmjs.com/package/tidegate) pipeline: it turns files into rows, exactly once.

\`\`\`sh
npm install
npm test       # runs the pipeline on an embedded cloud, in one process
npm run check  # checks the types
npm start      # keeps it running; prints the endpoint and commands to try
\`\`\`

While it runs, copy a file into \`inbox/\`, or put one with any S3 client:

\`\`\`sh
export AWS_ENDPOINT_URL=http://127.0.0.1:4566 AWS_REGION=us-east-1
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=any
aws --endpoint-url $AWS_ENDPOINT_URL s3 cp ${SAMPLE} s3://${name}/in/
npx tidegate why s3://${name}/in/monday.csv
\`\`\`

\`pipeline.ts\` is the whole pipeline. The same file runs on AWS:
\`npx tidegate run pipeline.ts --queue QUEUE --ledger postgres://…\`.
`;
}
