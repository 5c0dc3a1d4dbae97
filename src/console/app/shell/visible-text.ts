// Visible text: characters that hide or reorder text are shown as their escapes, as on the command
// line (printable.ts). Every text that the page shows goes through this hook, whatever view it is
// in. The values of inputs do not, so that an edited message keeps its characters.

import { options } from "preact";
import { printable } from "../../../core/encoding/printable.ts";

/** Preact makes a node without a type of each text; its props are the text. */
interface TextNode {
  readonly type: unknown;
  props: unknown;
}

export function showInvisibleCharacters(): void {
  const previous = options.vnode;
  options.vnode = (node) => {
    const text = node as TextNode;
    if (text.type === null && typeof text.props === "string") text.props = printable(text.props);
    previous?.(node);
  };
}
