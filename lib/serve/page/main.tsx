/** Starts the page. @module */
import { render } from "preact";
import { App } from "./app.tsx";
import { openApi } from "./open_api.ts";

const root = document.getElementById("app");
if (!root) throw new Error("the page has no element app");
render(<App opened={openApi(document)} />, root);
