// Icons: drawn for the console, 20 by 20, in the colour of the text. They decorate words, so
// assistive technology ignores them.

import type { ComponentChildren } from "preact";

const PATHS = {
  flow: "M3 10h4m6 0h4M7 6.5h6v7H7z",
  records: "M4 4.5h12M4 8h12M4 11.5h12M4 15h7",
  letters: "M3 5h14v10H3zM3 5.5l7 5.5 7-5.5",
  time: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 6v4.2l2.8 1.8",
  queue: "M3 6h3v8H3zM8.5 6h3v8h-3zM14 6h3v8h-3z",
  topic:
    "M5 10a1.8 1.8 0 1 0 0 .01M15 4.5a1.8 1.8 0 1 0 0 .01M15 15.5a1.8 1.8 0 1 0 0 .01M6.8 9l6-3.6M6.8 11l6 3.6",
  bucket: "M4 5h12l-1.4 11H5.4zM4 5c0-1 2.7-1.8 6-1.8S16 4 16 5",
  check: "M4 10.5l4 4 8-9",
  sink: "M4 5.5c0-1.4 2.7-2.5 6-2.5s6 1.1 6 2.5-2.7 2.5-6 2.5-6-1.1-6-2.5zM4 5.5v9c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5v-9M4 10c0 1.4 2.7 2.5 6 2.5s6-1.1 6-2.5",
  pipeline: "M3 7h9a3 3 0 0 1 0 6H8M3 7v6M17 10h-2",
  warning: "M10 3l7.5 13.5h-15zM10 8v4M10 14v.6",
  info: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14zM10 9v4.5M10 6.3v.4",
  copy: "M7 7h9v9H7zM4 13V4h9",
  upload: "M10 13V4M6.5 7.5L10 4l3.5 3.5M4 13v3h12v-3",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** A gate in a tide: two waves that pass a line. */
export function Logo(): ComponentChildren {
  return (
    <svg width="22" height="22" viewBox="0 0 22 22" fill="none" aria-hidden="true">
      <path
        d="M2 9c2.2 0 2.2-2 4.5-2S8.800 9 11 9s2.200-2 4.500-2S17.800 9 20 9M2 15c2.200 0 2.200-2 4.500-2s2.300 2 4.500 2 2.200-2 4.500-2 2.300 2 4.500 2"
        stroke="currentColor"
        stroke-width="2"
        stroke-linecap="round"
      />
      <path d="M11 2.500v17" stroke="currentColor" stroke-width="2" stroke-linecap="round" />
    </svg>
  );
}
