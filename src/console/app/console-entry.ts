// Console entry: starts the web page. index.html loads it; the page is a client of the JSON API.

import { renderConsole } from "./console.tsx";
import { showInvisibleCharacters } from "./shell/visible-text.ts";

showInvisibleCharacters();
const root = document.getElementById("console");
if (root !== null) renderConsole(root);
