// Dialog: a form in front of the page. The browser's own element keeps the focus inside, and closes
// it on Escape.
//   D1. While the request runs, the form cannot be sent again.
//   D2. A refused request keeps the dialog open, with the server's reason.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Notice } from "./notices.tsx";

interface DialogProps {
  readonly title: string;
  readonly submit: string;
  readonly tone?: "accent" | "bad";
  /** Why the form cannot be sent yet. */
  readonly refusal?: string | null;
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog(props: DialogProps) {
  const { title, submit, tone = "accent", refusal = null, onSubmit, onClose, children } = props;
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => element.current?.showModal(), []);
  const send = async (event: Event) => {
    event.preventDefault();
    if (busy || refusal !== null) return; // D1
    setBusy(true);
    setError(null);
    try {
      await onSubmit();
      onClose();
    } catch (cause) {
      setError((cause as Error).message); // D2
      setBusy(false);
    }
  };
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose}>
      <form onSubmit={send}>
        <h2 id={heading}>{title}</h2>
        {children}
        {error !== null && <Notice tone="bad" title={error} live />}
        <footer>
          {refusal !== null && <span class="muted">{refusal}</span>}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" data-tone={tone} disabled={busy || refusal !== null}>
            {submit}
          </button>
        </footer>
      </form>
    </dialog>
  );
}
