/** What starts Capstan, with Node before it. */
import { fileURLToPath } from "node:url";

export const ENTRY = fileURLToPath(new URL("main.js", import.meta.url));
