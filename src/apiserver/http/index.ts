/** The front of the server: ports, requests, negotiation, answers. What a request means is decided behind it. */
export { createHandler } from "./handler.ts";
export { type Listener, listen } from "./listener.ts";
export { createPages } from "./pages.ts";
