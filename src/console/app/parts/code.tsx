// Code: text that came from outside, and commands to copy. Everything is shown as text.

import { useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

/** A block that scrolls by itself; the keyboard can reach it. */
export function CodeBlock({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls long texts.
    <section class="block" tabIndex={0} aria-label={label}>
      <pre>{text}</pre>
    </section>
  );
}

/** The same on the command line. */
export function CommandLine({ text }: { readonly text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
  };
  return (
    <div class="command">
      <code>{text}</code>
      <button type="button" data-tone="plain" onClick={() => void copy()} aria-label="Copy command">
        <Icon name="copy" size={16} /> {copied ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
