/** Webhooks: a server for reviews, the rulings that it answers with, and whom they ask who may do what. */
export { type NeededRight, refusalTo } from "./access.ts";
export { type AdmissionHandlers, admissionReviews } from "./admission.ts";
export { conversionReviews } from "./conversion.ts";
export { badObject, consent, forbidden, type Refusal, type Ruling } from "./ruling.ts";
export { type ReviewHandlers, type ServingPair, serveWebhooks, type WebhookServer } from "./server.ts";
