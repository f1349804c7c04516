/** The front of the server: ports, requests, negotiation, answers. What a request means is decided behind it. */
export { auditObserver } from "./audit-observer.ts";
export { createHandler } from "./handler.ts";
export { createLimiter } from "./limiter.ts";
export { type Listener, listen } from "./listener.ts";
export { createPages } from "./pages.ts";
export { requestMetrics } from "./request-metrics.ts";
