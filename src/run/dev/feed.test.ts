import { expect, test } from "vitest";
import { systemClock } from "../../platform/system-clock.ts";
import { loadFeed, runFeed } from "./feed.ts";

test("the files of a feed are put in order until the signal aborts", async () => {
  const stop = new AbortController();
  const keys: string[] = [];
  const feed = function* () {
    for (let at = 0; ; at += 1) yield { key: `file-${at}`, body: "x" };
  };
  const put = async (key: string) => {
    keys.push(key);
    if (keys.length === 3) stop.abort();
  };
  const files = await runFeed({ clock: systemClock }, feed, { put, signal: stop.signal });
  expect([files, keys]).toEqual([3, ["file-0", "file-1", "file-2"]]);
});

test("a module that is not a feed is rejected", async () => {
  await expect(loadFeed("no-such-feed.ts")).rejects.toMatchObject({ code: "TG_CONFIG_INVALID" });
});
