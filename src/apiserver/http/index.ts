/** The front of the server: ports, requests, negotiation, answers. What a request means is decided behind it. */
export { auditObserver } from "./audit-observer.ts";
export { createHandler } from "./handler.ts";
export { askInProcess, type LocalAnswer, type LocalRequest } from "./in-process.ts";
export { createLimiter } from "./limiter.ts";
export { type Listener, type ListenerOptions, listen } from "./listener.ts";
export type { Handle, Request, Response } from "./messages.ts";
export { createPages } from "./pages.ts";
export { requestMetrics } from "./request-metrics.ts";
export { sendText } from "./response.ts";
