import { mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { useAwsCli } from "../../support/aws-cli.ts";
import { requireFullSize } from "../../support/full-size.ts";
import { useBuckets } from "../../support/s3-buckets.ts";
import { useTemporaryFolder } from "../../support/temporary-folder.ts";

const buckets = useBuckets();
const { print: aws } = useAwsCli(buckets);
const folder = useTemporaryFolder("aws-cli");

/** The size and name of each line that `aws s3 ls` prints. */
function listed(output: string): string[] {
  const lines = output.trimEnd().split("\n");
  return lines.map((line) => line.replace(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +/, ""));
}

describe("files and folders", () => {
  requireFullSize();

  test("[120] a file is uploaded and downloaded, small or in parts", async () => {
    const bucket = await buckets.bucket();
    const small = join(folder, "små +.txt");
    const big = join(folder, "big.bin");
    writeFileSync(small, "hej");
    writeFileSync(big, Buffer.alloc(9 * 1_024 ** 2, "0123456789"));
    await aws("s3", "cp", "--no-progress", small, `s3://${bucket}/in/`);
    await aws("s3", "cp", "--no-progress", big, `s3://${bucket}/in/`);
    const lines = listed(await aws("s3", "ls", "--recursive", `s3://${bucket}`));
    expect(lines).toEqual(["9437184 in/big.bin", "3 in/små +.txt"]);
    expect(listed(await aws("s3", "ls", `s3://${bucket}`))).toEqual([
      expect.stringMatching(/PRE in/),
    ]);
    const back = join(folder, "back.bin");
    await aws("s3", "cp", "--no-progress", `s3://${bucket}/in/big.bin`, back);
    expect(readFileSync(back).equals(readFileSync(big))).toBe(true);
    expect(await aws("s3", "cp", `s3://${bucket}/in/små +.txt`, "-")).toBe("hej");
  });

  test("a folder is synced, and only changed files are uploaded again", async () => {
    const bucket = await buckets.bucket();
    const tree = join(folder, "tree");
    mkdirSync(join(tree, "sub"), { recursive: true });
    for (const path of [join(tree, "a"), join(tree, "sub", "b")]) {
      writeFileSync(path, "1");
      utimesSync(path, 1, 1); // Older than any object: the server's clock is virtual.
    }
    await aws("s3", "sync", tree, `s3://${bucket}/t`);
    expect(await aws("s3", "sync", tree, `s3://${bucket}/t`)).toBe("");
    rmSync(join(tree, "a"));
    await aws("s3", "sync", "--delete", tree, `s3://${bucket}/t`);
    expect(listed(await aws("s3", "ls", "--recursive", `s3://${bucket}`))).toEqual(["1 t/sub/b"]);
    await aws("s3", "mv", `s3://${bucket}/t/sub/b`, `s3://${bucket}/moved`);
    await aws("s3", "rb", "--force", `s3://${bucket}`);
    expect((await buckets.s3.listBuckets({ Prefix: bucket })).Buckets).toEqual([]);
  });
});

test("a presigned URL works without credentials", async () => {
  const bucket = await buckets.bucket();
  await buckets.s3.putObject({ Bucket: bucket, Key: "a b", Body: "hello" });
  const url = (await aws("s3", "presign", `s3://${bucket}/a b`)).trim();
  expect(await (await fetch(url)).text()).toBe("hello");
});

test("[114][116] a notification is configured, and the event has the key as S3 encodes it", async () => {
  const bucket = await buckets.bucket();
  const queue = await buckets.queue();
  const configuration = {
    QueueConfigurations: [{ QueueArn: queue.arn, Events: ["s3:ObjectCreated:*"] }],
  };
  await aws(
    "s3api",
    "put-bucket-notification-configuration",
    "--bucket",
    bucket,
    "--notification-configuration",
    JSON.stringify(configuration),
  );
  const shown = await aws("s3api", "get-bucket-notification-configuration", "--bucket", bucket);
  expect(JSON.parse(shown)).toMatchObject(configuration);
  await aws("s3api", "put-object", "--bucket", bucket, "--key", "a b/ü+");
  const [first, second] = await buckets.drain(queue);
  expect(first.Event).toBe("s3:TestEvent");
  expect(second.Records[0].s3.object.key).toBe("a+b/%C3%BC%2B");
});
