// User location: where in the user's code a call comes from, read from the stack.

const OWN_FILES = new URL("../", import.meta.url).href;
const FRAMES_MAX = 50;

interface Frame {
  readonly url: string;
  readonly row: string;
}

/** The innermost location in the user's code on the stack. */
export function userLocation(): string | null {
  const frame = framesNow().find(({ url }) => isUser(url));
  return frame === undefined ? null : textOf(frame);
}

/**
 * The location in the user's code that called us, directly or through packages. Null if a file of
 * Tidegate is in between: then the call is ours, for example that of a driver which reads rows.
 */
export function callerInUserCode(here: string): string | null {
  for (const frame of framesNow()) {
    if (frame.url === here || frame.url === import.meta.url) continue;
    if (frame.url.startsWith(OWN_FILES)) return null;
    if (isUser(frame.url)) return textOf(frame);
  }
  return null;
}

function framesNow(): Frame[] {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES_MAX;
  const { stack = "" } = new Error("here");
  Error.stackTraceLimit = limit;
  return stack
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, file = "", row = ""] =
        /[\s(]((?:file:\/\/)?\/[^()]*?):(\d+):\d+\)?$/.exec(line) ?? [];
      if (file === "") return [];
      const url = file.startsWith("file:") ? file : `file://${file}`;
      return [{ url, row }];
    });
}

function isUser(url: string): boolean {
  return !url.includes("/node_modules/") && !url.startsWith(OWN_FILES);
}

function textOf({ url, row }: Frame): string {
  return `${url.replace(/\?.*$/, "").slice("file://".length)}:${row}`;
}
